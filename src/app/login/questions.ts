import { connect, findVersion, serversInForce } from '../../auth/connect.js';
import { oidcOf } from '../../auth/oidc/settings.js';
import { askGraph, askUsername } from '../../auth/prompts.js';
import type { Run } from '../../auth/run.js';
import { sourcesInSettings } from '../../auth/sources.js';
import type { Flags } from '../../config/keys.js';
import { namesServer, readAddress } from '../../config/target.js';
import { expected, GraphException } from '../../core/errors.js';

/** Errors of an address that a person may have mistyped. */
const WRONG_ADDRESS = /^(NETWORK|TIMEOUT|TLS|BAD_RESPONSE|NOT_FOUND|SERVER_UNAVAILABLE|UNSUPPORTED)$/;

/** How long to wait for the REST server, which a firewall may hide. */
const PROBE_MS = 5000;

/** What a person has answered so far. */
export interface Form {
  run: Run;
  /** The address to suggest. */
  suggestion?: string;
  /** Opens the run again, with an answer that counts like an option that was typed. */
  readonly open: (answer: Flags, earlier: Run | undefined) => Promise<Run>;
}

/**
 * Asks a person for what the settings do not say: address, graph and user. No credential is sent before that, and a server
 * that cannot be reached ends the login before a password is typed.
 */
export async function askMissing(form: Form): Promise<void> {
  if (!namesServer(form.run.settings)) await askAddress(form);
  await untilRight(
    () => findVersion(form.run),
    (wrong) => askAddress(form, wrong),
  );
  await untilRight(
    () => requireRestServer(form.run),
    (wrong) => askRestPort(form, wrong),
  );
  if (form.run.settings.graph === undefined)
    await askGraph(form.run, !(await findVersion(form.run)).secretsNeedGraph);
  if (form.run.settings.username === undefined && !signsInAtProvider(form.run))
    form.run = await form.open({ username: await askUsername(form.run) }, form.run);
}

/** @param askAgain asks for what was wrong, or throws the error that no other answer mends */
export async function untilRight<T>(
  attempt: () => Promise<T>,
  askAgain: (wrong: GraphException) => Promise<void>,
): Promise<T> {
  for (;;) {
    const done = await attempt().catch(expected);
    if (!(done instanceof GraphException)) return done;
    await askAgain(done);
  }
}

/** Whether the login is at the identity provider that is typed or set, and not with a credential that is typed. */
export function signsInAtProvider(run: Run): boolean {
  const given = sourcesInSettings(run).some(({ level }) => level === 'flag');
  return oidcOf(run) !== undefined && !given;
}

async function askAddress(form: Form, wrong?: GraphException): Promise<void> {
  const { prompter, reporter } = form.run.ports;
  // An address that was set is not the person's to mend.
  if (wrong && (form.suggestion === undefined || !WRONG_ADDRESS.test(wrong.code))) throw wrong;
  if (wrong) reporter.warn(`${wrong.message} Type the address again.`);
  const typed = await prompter.text('Host, a name or a URL', {
    suggestion: form.suggestion ?? 'http://127.0.0.1',
    refuse: (text) =>
      addressOf(text) ? undefined : 'Write a name or a URL, for example https://graph.example.com.',
  });
  // A name without a scheme is tried with https; the database may have no TLS.
  form.suggestion = typed.includes('://') ? typed : `http://${typed}`;
  form.run = await form.open({ host: undefined, 'gsql-url': undefined, ...addressOf(typed) }, undefined);
}

const addressOf = (typed: string) => readAddress(typed) ?? readAddress(`https://${typed}`);

async function askRestPort(form: Form, wrong: GraphException): Promise<void> {
  const { target, settings, ports } = form.run;
  // A port is no answer to a variable or a whole URL.
  const isTyped = (settings.all.gsqlUrl[0] ?? settings.all.host[0])?.level === 'flag';
  if (target.endpoints.restUrl !== undefined || !isTyped) throw wrong;
  const { prompter, reporter } = ports;
  reporter.warn(wrong.message);
  const port = await prompter.text('Port of the REST server', {
    refuse: (text) =>
      /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
        ? undefined
        : 'A port is a whole number from 1 to 65535.',
  });
  form.run = await form.open({ 'rest-port': port }, form.run);
}

/** Asks the REST server, whose address is not to be saved when no token can come from there. */
async function requireRestServer(run: Run): Promise<void> {
  const { connection, version } = await connect(run, undefined, PROBE_MS);
  // It is behind the GSQL server, which has answered.
  if (run.target.restUrl === undefined && version.restBehindGsql) return;
  if ((await connection.restAuthentication()) !== 'unknown') return;
  const { restUrl } = await serversInForce(run);
  throw new GraphException('BAD_RESPONSE', `${restUrl} is not a REST server.`, {
    hint: 'give its address, which ends with /restpp on 4.x: --rest-url',
  });
}
