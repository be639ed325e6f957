import { shortPath } from '../../app/format.js';
import { logInAtProvider } from '../../app/login/at-provider.js';
import { type LoggedIn, logIn } from '../../app/login/log-in.js';
import { connect, findVersion } from '../../auth/connect.js';
import { oidcOf } from '../../auth/oidc/settings.js';
import { askUsername } from '../../auth/prompts.js';
import type { Run } from '../../auth/run.js';
import { serversInForce } from '../../auth/servers.js';
import { sourcesInSettings } from '../../auth/sources.js';
import { findConfigs } from '../../config/find.js';
import { defaultProfileOf, type Flags } from '../../config/keys.js';
import { isProfileName, PROFILE_NAME_FORM } from '../../config/parse.js';
import { requireRewritable } from '../../config/write.js';
import { isLoopback } from '../../core/endpoints.js';
import { expected, GraphException, usageError } from '../../core/errors.js';
import { STORES, type StoreName } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { settingsInput } from '../context.js';
import { openRun } from '../session.js';

/** Errors of an address that a person may have mistyped. */
const WRONG_ADDRESS = /^(NETWORK|TIMEOUT|TLS|BAD_RESPONSE|NOT_FOUND|SERVER_UNAVAILABLE|UNSUPPORTED)$/;

/** How long to wait for the REST server, which a firewall may hide. */
const PROBE_MS = 5000;

export async function execute(invocation: Invocation): Promise<undefined> {
  const { flags } = invocation;
  const chosen = flags.store as StoreName | undefined;
  if (chosen !== undefined && STORES[chosen].scope === 'fleet')
    throw usageError(
      'A login is never kept on a Redis server: it is shared for tokens only.',
      'log in with --store keychain or --store file, and set GRAPHCRED_STORE=redis where tokens are shared',
    );
  const savePassword = flags['save-password'] === true;
  const run = await openCompleted(invocation);
  if (signsInAtProvider(run)) {
    if (savePassword)
      throw new GraphException('USAGE', 'There is no password to save in a login at an identity provider.', {
        hint: 'leave --save-password out',
      });
    const options = { onDevice: flags.device === true, opensBrowser: flags['no-browser'] !== true };
    const { username, issuer, file } = await logInAtProvider(run, chosen, options);
    const document = { saved: null, savedPassword: false, username, issuer };
    const notes = [`The user is ${username}.`];
    return reportWritten(invocation, run, { file, document, notes, hiding: hintAt(invocation, { file }) });
  }
  if (flags['no-browser'] === true || flags.device === true)
    throw new GraphException('USAGE', 'There is no identity provider to log in at.', {
      hint: 'name it: --oidc-issuer URL --oidc-client-id ID',
    });
  const login = await logIn(run, { savePassword, chosen });
  reportLogin(invocation, run, login);
  if (login.failure) throw login.failure;
}

function reportLogin(invocation: Invocation, run: Run, login: LoggedIn): void {
  const { report } = invocation;
  const { file, secretAlias = null, isNew, lost, savedPassword, advice } = login;
  const hiding = hintAt(invocation, login);
  if (lost && !report.json) {
    report.note(`secret ${lost.alias}: this is the only time its value is shown`);
    report.result(lost.value.reveal());
  }
  const notes = [
    ...(isNew
      ? [secretAlias?.includes(':') ? 'The secret is saved.' : `The secret ${secretAlias} is saved.`]
      : []),
    ...(savedPassword ? ['The password is saved.'] : []),
  ];
  const saved = isNew ? secretAlias : null;
  const document = { saved, savedPassword, ...(lost && { secret: lost.value.reveal() }) };
  reportWritten(invocation, run, { file, document, notes, hiding, advice });
}

/** What a login has written, and what to say of it. */
interface Written {
  readonly file: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
  /** The config file that hides the profile here. */
  readonly hiding: string | undefined;
  readonly advice?: LoggedIn['advice'];
}

/**
 * Says that the profile is written, and what to type next.
 * @param document what the JSON document says beside profile, file and host
 * @param more.hiding the config file in force here, if it is not the one with the profile
 * @param more.advice what to do where the next command would lack a credential
 */
function reportWritten(
  { ctx, report }: Invocation,
  { settings, target }: Run,
  { file, document, notes, hiding, advice }: Written,
): undefined {
  const { name } = settings.profile;
  const done = `Logged in to ${target.gsqlUrl} as profile ${name} (${shortPath(file, ctx.home)}).`;
  report.done({ profile: name, file, host: target.host, ...document }, [done, ...notes].join(' '));
  if (report.json) return;
  const isDefault = (defaultProfileOf(settings.file?.config) ?? name) === name;
  if (hiding !== undefined) report.note(`${hiding} is in force here and hides this profile`);
  if (!isDefault) report.note(['to make it the default profile', { command: `profile use ${name}` }]);
  report.note(advice ?? ['next', { command: `token get${isDefault ? '' : ` -p ${name}`}` }]);
}

/** Lets hints name the config file with the profile where another one is in force here. Returns that other one. */
function hintAt(invocation: Invocation, { file }: Pick<LoggedIn, 'file'>): string | undefined {
  const { report } = invocation;
  const inForce = fileInForce(invocation);
  if (inForce === undefined || inForce === file) return undefined;
  report.typed = { ...report.typed, config: file };
  return inForce;
}

/** Returns the config file that other commands find here, trusted or not. */
function fileInForce(invocation: Invocation): string | undefined {
  try {
    const [first] = findConfigs(settingsInput(invocation));
    return first?.path;
  } catch (error) {
    // The file that is named, or one of two in a folder: other commands say what is wrong with it.
    expected(error);
    return (
      (invocation.flags.config as string | undefined) ?? (invocation.ctx.env.GRAPHCRED_CONFIG || undefined)
    );
  }
}

/**
 * Opens the run of the profile that is about to be written, and asks for missing settings on a terminal. Only the
 * user's own config file is read, and of it only this profile.
 * @throws GraphException USAGE for a profile name that is not valid in a config file, CONFIG_INVALID when that file cannot
 * be rewritten
 */
async function openCompleted(typed: Invocation): Promise<Run> {
  const answers: Answers = {};
  const invocation = { ...typed, flags: withAddress(typed.flags) };
  const open: Open = (earlier) =>
    openRun(invocation, { newProfile: true, answers, isStepwise: true, ...(earlier && { earlier }) });
  let run = await open();
  const { profile } = run.settings;
  if (!isProfileName(profile.name))
    throw usageError(`${profile.source} is not a name for a profile.`, `begin with ${PROFILE_NAME_FORM}`);
  const { configDir } = run.stores;
  if (configDir !== undefined) await requireRewritable(configDir);
  if (!run.ports.canPrompt) return run;
  const { text } = run.ports.prompter;
  const { all } = run.settings;
  if (!all.host.some(({ level }) => level !== 'default') && !all.gsqlUrl[0])
    run = await askAddress(run, answers, open);
  // The version is asked for without a credential. If the server cannot be reached, the login ends before a password is
  // typed.
  const { secretsNeedGraph, restBehindGsql } = await findVersion(run);
  const hasRestPort = run.target.restUrl === undefined && !restBehindGsql;
  if ((answers['gsql-url'] ?? invocation.flags['gsql-url']) !== undefined && hasRestPort)
    await askRestPort(run, answers, open);
  if (run.settings.graph === undefined) {
    const question = secretsNeedGraph ? 'Graph' : 'Graph (Enter for none)';
    answers.graph = await text(question, { optional: !secretsNeedGraph });
  }
  if (run.settings.username === undefined && !signsInAtProvider(run))
    answers.username = await askUsername(run);
  return open(run);
}

type Answers = Record<string, string>;
/** Opens the run again, with the answers so far. */
type Open = (earlier?: Run) => Promise<Run>;

/** Whether the login is at the identity provider that is typed or set, and not with a credential that is typed. */
function signsInAtProvider(run: Run): boolean {
  const given = sourcesInSettings(run).some(({ level }) => level === 'flag');
  return oidcOf(run) !== undefined && !given;
}

/** Asks for the host until a GSQL server answers there. */
async function askAddress({ ports }: Run, answers: Answers, open: Open): Promise<Run> {
  for (let suggestion = 'http://127.0.0.1'; ; ) {
    const typed = await ports.prompter.text('Host, a name or a URL', { suggestion, refuse: refuseHost });
    const address = addressOf(withScheme(typed));
    Object.assign(answers, address);
    const run = await open();
    try {
      await findVersion(run);
      return run;
    } catch (error) {
      const { code, message } = expected(error);
      if (!WRONG_ADDRESS.test(code)) throw error;
      ports.reporter.warn(`${message} Type the address again.`);
      // A name without a scheme was tried with https; the database may have no TLS.
      suggestion = typed.includes('://') ? typed : `http://${typed}`;
      for (const name of Object.keys(address)) delete answers[name];
    }
  }
}

/** Asks for the port of the REST server until one answers there. Where the usual port is right, nothing is asked. */
async function askRestPort(run: Run, answers: Answers, open: Open): Promise<void> {
  for (;;) {
    const problem = await restServerProblem(await open(run));
    if (problem === undefined) return;
    run.ports.reporter.warn(problem);
    answers['rest-port'] = await run.ports.prompter.text('Port of the REST server', { refuse: refusePort });
  }
}

/** Asks the REST server without a credential. */
async function restServerProblem(run: Run): Promise<string | undefined> {
  try {
    const { connection } = await connect(run, undefined, PROBE_MS);
    if ((await connection.restAuthentication()) !== 'unknown') return undefined;
    return `${(await serversInForce(run)).restUrl} is not a REST server.`;
  } catch (error) {
    return expected(error).message;
  }
}

/** Reads `--host URL:PORT`, and an address of this machine without a scheme, as a person means it. */
function withAddress(flags: Flags): Flags {
  const { host } = flags;
  if (typeof host !== 'string' || refuseHost(host) !== undefined) return flags;
  const url = withScheme(host);
  return url === host || isLoopback(url) ? { ...flags, host: undefined, ...addressOf(url) } : flags;
}

function refusePort(text: string): string | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
    ? undefined
    : 'A port is a whole number from 1 to 65535.';
}

function refuseHost(text: string): string | undefined {
  const form = /^(https?:\/\/)?(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?(\/[\w.-]+)*\/?$/i;
  return form.test(text) && URL.canParse(withScheme(text))
    ? undefined
    : 'Write a name or a URL, for example https://graph.example.com.';
}

/** A name alone means https, except on this machine. */
function withScheme(text: string): string {
  const plain = `http://${text}`;
  if (text.includes('://')) return text;
  return URL.canParse(plain) && isLoopback(plain) ? plain : `https://${text}`;
}

/**
 * Reads an address. A URL with a port or a path is that of the GSQL server, unless it has the usual port of the REST
 * server.
 */
function addressOf(text: string): Readonly<Record<string, string>> {
  const [, host = text, port, path = ''] =
    /^(.+?)(?::(\d{1,5}))?(\/.*)?$/.exec(text.replace(/^https?:\/\//i, '')) ?? [];
  const base = `${text.slice(0, text.indexOf('//'))}//${host}`;
  if (port === '9000') return { host: base, 'rest-port': port };
  return port === undefined && path.replace('/', '') === '' ? { host: base } : { 'gsql-url': text };
}
