import { said, type Text } from '../say.js';

const failed = (message: string) => ({ returnCode: 212, message });

/** GSQL texts. A line has no HTTP status: every text is sent with 200. */
export const GSQL = {
  // USE GRAPH. pyTigerGraph's tests and captured sessions.
  usingGraph: { message: "Using graph '{graph}'" },
  // USE GLOBAL.
  usingGlobal: { message: 'Using the global graph.' },
  // USE GRAPH of an unknown graph; later statements still run. Captures of 4.2; that the old graph stays is assumed.
  useGraphFailed: failed("Graph '{graph}' does not exist."),
  // A statement about secrets without a graph in use, 3.x. A Savanna user, of a database without graphs; the return
  // code from the documented list.
  noGraphInUse: {
    returnCode: 213,
    message: 'Semantic Check Fails: No graph available. Please create a graph first.',
  },
  // CREATE SECRET. pyTigerGraph and pyTigerDriver read "The secret: " and what comes up to the next blank.
  secretCreated: { message: 'The secret: {secret} has been created for user "{user}".' },
  // CREATE SECRET with an alias that is taken. pyTigerGraph looks for "already exists".
  aliasTaken: failed('The secret with alias {alias} already exists.'),
  // DROP SECRET. pyTigerGraph's tests look for "Successfully dropped secrets".
  secretDropped: { message: 'Successfully dropped secrets: [{alias}].' },
  // DROP SECRET of an unknown secret. pyTigerGraph looks for "Failed to drop secrets"; the recorded suite has "Failed
  // to … [x]".
  secretNotDropped: failed('Failed to drop secrets: [{alias}].'),
  // SHOW SECRET without any secret.
  noSecrets: { message: 'There is no secret.' },
  // A reader creates a secret on 3.x (that a reader may not is an assumption).
  mayNotCreate: failed(
    "Semantic Check Fails: You don't have permission to create a secret on graph '{graph}'.",
  ),
  // A reader creates a secret on 4.x (that a reader may not is an assumption). A user of 4.2.5, for another command.
  mayNotCreateGlobal: failed(
    "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
  ),
  // A syntax error, which ends the text. Clients look for 'Encountered "'.
  syntax: { returnCode: 211, message: 'Encountered "{token}".' },
  // No or a wrong login at a GSQL endpoint, 3.x. The status from the Java GSQL client, which prints these words itself.
  unauthorized: said(401, 'Authentication failed.'),
  // The schema of an unknown graph, 3.x and 4.x. The words of USE GRAPH.
  schemaUnknownGraph: said(400, "Graph '{graph}' does not exist."),
  // The schema of an unknown type, 3.x and 4.x.
  schemaUnknownType: said(400, "Type '{type}' does not exist."),
  // POST /gsqlserver/gsql/version. The Java GSQL client calls it without a login; the words are those of 4.x.
  version: said(200, 'GSQL version: {version}\n', { body: 'text' }),
} satisfies Record<string, Text>;
