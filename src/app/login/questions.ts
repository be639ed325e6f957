import { connect } from '../../auth/connect.js';
import { sourcesInSettings } from '../../auth/credential.js';
import { oidcOf } from '../../auth/oidc/settings.js';
import { askGraph, askUsername } from '../../auth/prompts.js';
import type { Flags } from '../../config/keys.js';
import { namedBy, namesServer } from '../../config/target.js';
import { DEFAULT_REST_PORT, isLoopbackHost } from '../../core/endpoints.js';
import { GraphException, whyFailed } from '../../core/errors.js';
import type { Ports } from '../../run/ports.js';
import { graphOf, type Run, usernameOf } from '../../run/run.js';
import { findVersion, serversInForce } from '../../run/server.js';

/** Errors of an address that a person may have mistyped. */
const WRONG_ADDRESS = /^(NETWORK|TIMEOUT|TLS|BAD_RESPONSE|NOT_FOUND|SERVER_UNAVAILABLE|UNSUPPORTED)$/;

/** How long to wait for the REST server, which a firewall may hide. */
const PROBE_MS = 5000;

/** Opens the run again, with a part of the address that counts like an option that was typed, as do the ones before it. */
type Reopen = (address: Flags) => Promise<Run>;

/** Asks a person for address, graph and user, and sends no credential. It fails where no server answers, before a password. */
export async function askMissing(opened: Run, reopen: Reopen): Promise<Run> {
  const named = namesServer(opened.settings) ? opened : await askAddress(opened.ports, reopen);
  // An address that was set is not the person's to mend.
  await findVersion(named);
  const run = await withRestServer(named, reopen);
  if (graphOf(run) === undefined) await askGraph(run);
  if (usernameOf(run) === undefined && !signsInAtProvider(run)) await askUsername(run);
  return run;
}

/** Whether the login is at the identity provider that is typed or set, and not with a credential that is typed. */
export function signsInAtProvider(run: Run): boolean {
  const given = sourcesInSettings(run).some(({ level }) => level === 'flag');
  return oidcOf(run) !== undefined && !given;
}

async function askAddress(ports: Ports, reopen: Reopen, suggestion = 'http://127.0.0.1'): Promise<Run> {
  const typed = await ports.prompter.text('Host, a name or a URL', {
    suggestion,
    refuse: (text) =>
      typedAddress(text)
        ? undefined
        : 'Write a name or a URL without user name: db.example.com, or https://db.example.com:14240.',
  });
  const run = await reopen({ 'gsql-url': undefined, ...typedAddress(typed) });
  const wrong = await whyFailed(findVersion(run));
  if (!wrong) return run;
  // Another answer does not make a certificate trusted.
  if (!WRONG_ADDRESS.test(wrong.code) || wrong.option === 'tls.ca') throw wrong;
  ports.reporter.ask([`warning: ${wrong.message} Type the address again`, ...wrong.fix.slice(0, 1)]);
  // A name without a scheme was tried with https; the database may have no TLS.
  return askAddress(ports, reopen, typed.includes('://') ? typed : `http://${typed}`);
}

/** An address as people type it: a name or a URL, with a port or a path if need be. */
const TYPED = /^(https?:\/\/)?(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?((?:\/[\w.-]+)*)\/?$/i;

/** Reads a typed address as options: a URL with a port or path as that of the GSQL server, unless it has the REST server's usual port. */
export function readAddress(typed: string): Flags | undefined {
  const [, scheme, name = '', port, path = ''] = TYPED.exec(typed) ?? [];
  if (scheme === undefined && !isLoopbackHost(name)) return undefined;
  const host = `${scheme ?? 'http://'}${name}`;
  const url = `${host}${port === undefined ? '' : `:${port}`}${path}`;
  if (!URL.canParse(url)) return undefined;
  if (port === String(DEFAULT_REST_PORT)) return { host, 'rest-port': port };
  return url === host ? { host } : { host: undefined, 'gsql-url': url };
}

const typedAddress = (typed: string) => readAddress(typed) ?? readAddress(`https://${typed}`);

/** Returns the run of a REST server that answers. A person is asked for its port until one does. */
async function withRestServer(run: Run, reopen: Reopen): Promise<Run> {
  const wrong = await whyFailed(requireRestServer(run));
  if (!wrong) return run;
  const { target, settings, ports, asked, time } = run;
  // A port is no answer to a variable or a whole URL.
  const isTyped = namedBy(settings)?.level === 'flag';
  const isWrongPort = WRONG_ADDRESS.test(wrong.code) && target.endpoints.restUrl === undefined;
  if (!isWrongPort || !isTyped) throw wrong;
  ports.reporter.ask(`warning: REST server: ${wrong.message} Type the port of the REST server.`);
  const port = await ports.prompter.text('Port of the REST server', {
    refuse: (text) =>
      /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
        ? undefined
        : 'A port is a whole number from 1 to 65535.',
  });
  // The GSQL server is the same and has told its version, and the time that was used stays used.
  return withRestServer({ ...(await reopen({ 'rest-port': port })), asked, time }, reopen);
}

/** Warns of a REST server that gives no tokens, where nobody can be asked for another address. */
export async function warnOfRestServer(run: Run): Promise<void> {
  const wrong = await whyFailed(requireRestServer(run));
  if (wrong) run.ports.reporter.warn([`REST server: ${wrong.message.replace(/\.$/, '')}`, ...wrong.fix]);
}

/** Asks the REST server, whose address is not to be saved when no token can come from there. */
async function requireRestServer(run: Run): Promise<void> {
  const probeMs = Math.min(PROBE_MS, run.time.deadline.forRequestMs);
  const { connection, version } = await connect(run, undefined, probeMs);
  // It is behind the GSQL server, which has answered.
  if (run.target.restUrl === undefined && version.restBehindGsql) return;
  if ((await connection.restAuthentication()) !== 'unknown') return;
  const { restUrl } = await serversInForce(run);
  throw new GraphException('BAD_RESPONSE', `${restUrl} is not a REST server.`, {
    hint: 'give the address of the REST server, which ends with /restpp on 4.x: --rest-url',
  });
}
