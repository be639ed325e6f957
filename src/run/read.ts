import path from 'node:path';
import { refuseValue } from '../config/errors.js';
import { type ConfigKey, type SourcedValue, variableIn } from '../config/keys.js';
import { describeOther, targetOf } from '../config/target.js';
import { expected, GraphException, usageError } from '../core/errors.js';
import { redactServerText, upTo, withoutCredentials } from '../core/redact.js';
import { Sensitive } from '../core/sensitive.js';
import { accessOf, keepOthersOut, problemOf } from '../files/access.js';
import { readBounded, whyUnreadable } from '../files/private-files.js';
import { runProgram } from '../files/program.js';
import { type BareRun, type Ports, pathOf, pathSetting } from './ports.js';

const MAX_CREDENTIAL_BYTES = 64 * 1024;
const MAX_PEM_BYTES = 1_000_000;
const GIVE_ONE_LINE = 'it must be the credential alone, on one line';

/** Editors add a line end to a file, which is not part of the credential. */
function trimmed(bytes: Buffer, from: string): Sensitive {
  // A byte that is read as another character would change the credential. UTF-16 without a byte order mark has zero bytes.
  if (!process.getBuiltinModule('node:buffer').isUtf8(bytes) || bytes.includes(0))
    throw usageError(
      `The text in ${from} is not UTF-8.`,
      'save it as UTF-8; in PowerShell: Set-Content -Encoding utf8 -NoNewline',
    );
  // Some editors begin a file with a byte order mark.
  const value = bytes.toString('utf8').replace(/^\uFEFF|\r?\n$/g, '');
  if (value === '')
    throw new GraphException('INPUT_REQUIRED', `There is nothing in ${from}.`, { hint: GIVE_ONE_LINE });
  if (/[\r\n]/.test(value)) throw usageError(`There is more than one line in ${from}.`, GIVE_ONE_LINE);
  return new Sensitive(value);
}

/** Reads a credential from stdin. Throws INPUT_REQUIRED when it is empty, TIMEOUT, USAGE. */
export async function fromStdin({ ports: { stdin }, time }: BareRun): Promise<Sensitive> {
  const limits = { maxBytes: MAX_CREDENTIAL_BYTES, timeoutMs: time.limitMs };
  return trimmed(await stdin.read(limits), `stdin (--${stdin.holds}-stdin)`);
}

/** Reads the token given with `--token-stdin`, if it was. It belongs to the pair of base URLs in force. */
export async function tokenFromStdin(run: BareRun): Promise<Sensitive | undefined> {
  if (run.ports.stdin.holds !== 'token') return undefined;
  const token = (await fromStdin(run)).reveal();
  // What is not the token itself would be unknown to every server, as one that is revoked is.
  if (!/^[\w.~+/-]+=*$/.test(token))
    throw usageError(
      'There is more on stdin (--token-stdin) than a token.',
      'give the token alone, without "Authorization: Bearer", a name or quotes',
    );
  return new Sensitive(token, 'from --token-stdin');
}

/** Says what helps first when the server refuses `TG_API_TOKEN`. */
export function refusedVariable({ code, message }: GraphException): GraphException {
  const unset = 'unset TG_API_TOKEN, so that a stored or new token is used; if graphcred exec has set it';
  const hint = `${unset}: graphcred token get --fresh, with the same --lifetime if exec has one, then run graphcred exec again`;
  return new GraphException(code, message, { hint });
}

/** Returns the token in `TG_API_TOKEN`, unless the `TG_*` variables are for another database, or --profile was typed. */
export function tokenFromVariable({ ports, settings }: BareRun): Sensitive | undefined {
  if (settings.profile.source === '--profile') {
    if (ports.env.TG_API_TOKEN) ports.reporter.detail('TG_API_TOKEN is ignored because --profile was given');
    return undefined;
  }
  const value = variableIn(ports.env, 'TG_API_TOKEN', true);
  if (!value) return undefined;
  const layer = settings.leftOut.find(({ set }) => set.some(({ level }) => level === 'tgVariable'));
  if (!layer) return new Sensitive(value, 'from TG_API_TOKEN');
  const why = describeOther(layer.pair, settings, targetOf(settings));
  ports.reporter.note(`TG_API_TOKEN is not used: ${layer.source} names ${why}`);
  return undefined;
}

const CHECK_FILE = 'check the path, and that you may read the file';

/** Reads a credential from the file that a setting names. Throws CONFIG_INVALID when others can change it. */
export async function fromFile(run: BareRun, set: Omit<SourcedValue, 'key' | 'source'>): Promise<Sensitive> {
  const { time, ports } = run;
  const { label } = set;
  const file = pathOf(run, set);
  const limits = { maxBytes: MAX_CREDENTIAL_BYTES, timeoutMs: time.limitMs };
  const { bytes, stat } = await readBounded(file, limits).catch((error) => {
    if (error instanceof GraphException) throw error;
    // A CI system may hold the value itself in a variable for a path, and a log would show it.
    const which = set.level === 'variable' ? '' : ` ${file}`;
    const message = `The file${which} named by ${label} cannot be read: ${whyUnreadable(error)}.`;
    throw new GraphException('INPUT_REQUIRED', message, { hint: CHECK_FILE });
  });
  const problem = stat.isFile() ? problemOf(file, stat) : undefined;
  // One of root's is mounted by what runs this program in a container.
  const isOwn = [undefined, stat.uid].includes(process.geteuid?.());
  if (stat.isFile() && isOwn && accessOf(file, stat.mode) === 'read')
    ports.reporter.warn(
      `other users may read the file named by ${label}; to stop that: ${keepOthersOut(file)}`,
    );
  if (problem === undefined) return trimmed(bytes, `the file named by ${label}`);
  throw new GraphException('CONFIG_INVALID', `The file named by ${label} is not used: ${problem.message}.`, {
    hint: problem.mend,
  });
}

/** Reads the key of the stores `file` and `redis` from the file that a variable names. Throws STORE_UNAVAILABLE. */
export async function readKeyFile(run: BareRun, file: string): Promise<Sensitive> {
  const set = { value: file, level: 'variable', label: 'GRAPHCRED_STORE_KEY_FILE' } as const;
  return fromFile(run, set).catch((error) => {
    const { message, fix } = expected(error);
    throw new GraphException('STORE_UNAVAILABLE', message.replace(/\.$/, ''), { fix });
  });
}

/** The forms that a certificate may have besides PEM, and their first bytes in hex. In PKCS12 the version follows, 3. */
const FORMS: readonly [string, RegExp][] = [
  ['UTF-16 text', /^(?:fffe|feff|2d00|002d)/],
  ['PKCS12', /^30(?:[0-7].|80|81..|82.{4}|83.{6})020103/],
  ['DER', /^308[1-3]/],
];

/** Reads the PEM file that a setting names. Throws USAGE or CONFIG_INVALID for one that is none or cannot be read. */
export async function readPem(run: BareRun, key: ConfigKey): Promise<string | undefined> {
  const file = pathSetting(run, key);
  if (file === undefined) return undefined;
  const refuse = (problem: string, hint: string) => refuseValue(run.settings, key, problem, hint);
  const limits = { maxBytes: MAX_PEM_BYTES, timeoutMs: run.time.limitMs };
  const { bytes } = await readBounded(file, limits).catch((error) => {
    if (error instanceof GraphException) throw error;
    // As in fromFile, the variable may hold the value itself.
    const which = run.settings.all[key][0]?.level === 'variable' ? 'a file' : file;
    return refuse(`names ${which}, which cannot be read: ${whyUnreadable(error)}`, CHECK_FILE);
  });
  const [wanted, mark] = key.endsWith('.key') ? ['a key', 'KEY-----'] : ['a certificate', 'CERTIFICATE-----'];
  if (bytes.includes(mark)) return bytes.toString('utf8');
  const [form] = FORMS.find(([, begin]) => begin.test(bytes.toString('hex', 0, 9))) ?? [];
  const held = form ?? (bytes.includes('PRIVATE KEY-----') ? 'a key' : 'something else');
  const give = `give a file with ${wanted} in PEM; openssl converts other forms`;
  return refuse(`names a file that contains ${held} instead of ${wanted} in PEM`, give);
}

/** Runs a program that prints a credential, without a shell, for at most 30 s. Its stderr is told, redacted, in any case. */
export async function fromCommand(
  command: readonly string[],
  label: string,
  { childEnvironment, reporter }: Ports,
) {
  const name = path.basename(command[0] as string);
  const failed = (what: string, words = '', hint = 'run the whole command by hand to see its output') =>
    new GraphException('INPUT_REQUIRED', `${label}: ${name} ${what}${words && `, and said: ${words}`}`, {
      hint,
    });
  const running = runProgram(command, childEnvironment(), MAX_CREDENTIAL_BYTES);
  const { stdout, stderr, stopped, status, signal } = await running.catch((error) => {
    if (error instanceof GraphException) throw error;
    if (error.code !== 'ENOENT') throw failed('could not be started');
    const hint = name === command[0] ? 'install it, or write its whole path' : undefined;
    throw failed('was not found', '', hint);
  });
  const bytes = Buffer.from(stdout, 'latin1');
  // What may be a credential is hidden, and ordinary words stay.
  const lines = bytes.toString().split(/\r?\n/);
  const printed = lines.map((line) => new Sensitive(line));
  const known = withoutCredentials(upTo(stderr, MAX_CREDENTIAL_BYTES), printed);
  const named = /((?:password|secret|token|key)["']?\s*[:=]\s*)\S+/gi;
  const words = redactServerText(known.replace(named, '$1[redacted]'));
  if (stopped !== undefined) throw failed(`${stopped} and was stopped`, words);
  if (status !== 0) throw failed(signal ? `was killed by ${signal}` : `ended with status ${status}`, words);
  const value = trimmed(bytes, `the output of "${name}" (${label})`);
  if (words !== '') reporter.note(`${label} says: ${words}`);
  return value;
}
