import { SOURCE, type Text } from '../text.js';

const FORMER = { evidence: 'A', source: SOURCE.before } as const;

/** GSQL texts and the shell's login. A line has no HTTP status: every text is sent with 200. */
export const GSQL = {
  usingGraph: {
    when: 'USE GRAPH',
    message: "Using graph '{graph}'",
    evidence: 'D',
    source: "pyTigerGraph's tests and captured sessions",
  },
  usingGlobal: {
    when: 'USE GLOBAL',
    message: 'Using the global graph.',
    evidence: 'A',
    source: SOURCE.nothing,
  },
  useGraphFailed: {
    when: 'USE GRAPH of an unknown graph; the statements after it still run',
    returnCode: 212,
    message: "Graph '{graph}' does not exist.",
    evidence: 'F',
    source: 'captures of 4.2; that the graph used before stays in use is assumed',
  },
  noGraphInUse: {
    when: 'a statement about secrets without a graph in use, 3.x',
    returnCode: 213,
    message: 'Semantic Check Fails: No graph available. Please create a graph first.',
    evidence: 'F',
    source: 'a Savanna user, of a database without graphs; the return code from the documented list',
    variants: {
      old: {
        ...FORMER,
        returnCode: 213,
        message: 'No graph is in use. Please run "USE GRAPH <graph>" first.',
      },
    },
  },
  secretCreated: {
    when: 'CREATE SECRET',
    message: 'The secret: {secret} has been created for user "{user}".',
    evidence: 'C',
    source:
      'pyTigerGraph and pyTigerDriver read "The secret: " and what comes up to the next blank; the rest is assumed',
  },
  aliasTaken: {
    when: 'CREATE SECRET with an alias that is taken',
    returnCode: 212,
    message: 'The secret with alias {alias} already exists.',
    evidence: 'C',
    source: 'pyTigerGraph looks for "already exists"; the rest is assumed',
  },
  secretDropped: {
    when: 'DROP SECRET',
    message: 'Successfully dropped secrets: [{alias}].',
    evidence: 'C',
    source: 'pyTigerGraph\'s tests look for "Successfully dropped secrets"; the rest is assumed',
  },
  secretNotDropped: {
    when: 'DROP SECRET of an unknown secret',
    returnCode: 212,
    message: 'Failed to drop secrets: [{alias}].',
    evidence: 'C',
    source: 'pyTigerGraph looks for "Failed to drop secrets"; the recorded suite has "Failed to … [x]"',
  },
  noSecrets: {
    when: 'SHOW SECRET without any secret',
    message: 'There is no secret.',
    evidence: 'A',
    source: SOURCE.nothing,
  },
  mayNotCreate: {
    when: 'a reader creates a secret on 3.x (that a reader may not is an assumption)',
    returnCode: 212,
    message: "Semantic Check Fails: You don't have permission to create a secret on graph '{graph}'.",
    evidence: 'A',
    source: SOURCE.nothing,
    variants: {
      'required-privilege': {
        returnCode: 212,
        message:
          "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
        evidence: 'F',
        source: 'a user of 4.2.5, for another command',
      },
    },
  },
  mayNotCreateGlobal: {
    when: 'a reader creates a secret on 4.x (that a reader may not is an assumption)',
    returnCode: 212,
    message:
      "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
    evidence: 'F',
    source: 'a user of 4.2.5, for another command',
    variants: {
      old: {
        ...FORMER,
        returnCode: 212,
        message: "Semantic Check Fails: You don't have permission to create a secret.",
      },
    },
  },
  syntax: {
    when: 'a syntax error, which ends the text',
    returnCode: 211,
    message: 'Encountered "{token}" at line {line}, column {column}.',
    evidence: 'C',
    source: "clients look for 'Encountered \"'; the rest is assumed",
  },
  unauthorized3: {
    when: 'no login or a wrong one at a GSQL endpoint, 3.x',
    status: 401,
    message: 'Authentication failed.',
    evidence: 'A',
    source: 'the status from the Java GSQL client, which prints these words itself',
  },
  loginWrong: {
    when: "wrong user or password at the shell's login, 3.8 and later",
    status: 200,
    message: 'Invalid username or password!',
    fields: { isClientCompatible: true },
    evidence: 'C',
    source: 'the Java GSQL client 3.8 to 3.9.3',
  },
  loginWrongOld: {
    when: "wrong user or password at the shell's login, before 3.8",
    status: 200,
    message: 'Wrong password!',
    fields: { isClientCompatible: true },
    evidence: 'C',
    source: 'the Java GSQL client 3.0 to 3.7',
  },
  loginThrottled: {
    when: "too many failures at the shell's login, 3.8 and later",
    status: 200,
    message: 'Too many failed logins. Please re-login after {seconds} seconds.',
    fields: { isClientCompatible: true },
    evidence: 'C',
    source: 'the Java GSQL client looks for "Please re-login after"; the rest is assumed',
  },
  loginUnknownGraph: {
    when: "the session at the shell's login names an unknown graph",
    status: 200,
    message: "Graph '{graph}' does not exist.",
    fields: { isClientCompatible: true },
    evidence: 'A',
    source: 'the words of USE GRAPH',
  },
  schemaUnknownGraph: {
    when: 'the schema of an unknown graph, 3.x and 4.x',
    status: 400,
    statusAssumed: true,
    message: "Graph '{graph}' does not exist.",
    evidence: 'A',
    source: 'the words of USE GRAPH',
  },
  schemaUnknownType: {
    when: 'the schema of an unknown type, 3.x and 4.x',
    status: 400,
    statusAssumed: true,
    message: "Type '{type}' does not exist.",
    evidence: 'A',
    source: SOURCE.nothing,
  },
  version3: {
    when: 'POST /gsqlserver/gsql/version',
    status: 200,
    body: 'text',
    message: 'GSQL version: {version}\n',
    evidence: 'A',
    source: 'the Java GSQL client calls it without a login; the words are those of 4.x',
  },
} as const satisfies Record<string, Text>;
