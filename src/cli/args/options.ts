import { usageError } from '../../core/errors.js';
import { STORE_NAMES } from '../../store/store.js';
import type { Context } from '../context.js';

/** An option: commander, the fast path, completion, the man page and the reference in docs/ are made from it. */
export type OptionSpec = ReturnType<typeof option>;

/** @param flags as commander and help write it: `-p, --profile <name>` */
export function option(
  flags: string,
  help: string,
  more: { choices?: readonly string[]; repeat?: true } = {},
) {
  const [, short = '', name = '', value] = /^(?:-(.), )?--([a-z-]+)(?: <(.+)>)?$/.exec(flags) ?? [];
  return { flags, name, short, value, help, ...more };
}

export function optionText({ value, choices, help }: OptionSpec): string {
  return choices && value !== choices.join('|') ? `${help} (one of ${choices.join(', ')})` : help;
}

export const LIFETIME = option('--lifetime <duration>', 'life of a token: 90s, 15m, 12h, 30d (default), 1w');
export const MIN_TTL = option('--min-ttl <duration>', 'replace a stored token that ends sooner than this');
export const ALL_GRAPHS = option('--all-graphs', 'a token for all graphs, even if a graph is set (4.x)');
const STORE_HELP = 'where this call stores tokens and secrets; login saves the choice for every profile';
export const STORE = option('--store <store>', STORE_HELP, { choices: STORE_NAMES });
export const CONFIG = option('--config <file>', 'use this config file; none: no project file');
export const PROFILE = option('-p, --profile <name>', 'use the settings of this profile');
const outputOption = (...choices: readonly string[]) =>
  option('-o, --output <format>', 'how the result is printed', { choices });

const TARGET: readonly OptionSpec[] = [
  PROFILE,
  CONFIG,
  option('--host <url>', 'server, as a URL without port: https://graph.example.com'),
  option('--rest-port <port>', 'port of the REST server (9000)'),
  option('--gsql-port <port>', 'port of the GSQL server (14240)'),
  option('--rest-url <url>', 'REST server, as a URL with port; instead of host and port'),
  option('--gsql-url <url>', 'GSQL server, as a URL with port; instead of host and port'),
  option('--graph <name>', 'graph to work on'),
  option('--server-version <version>', 'auto (default), 3, 4, or a version such as 3.10.1'),
  option('--timeout <duration>', 'give up when the whole call takes longer (30s)'),
  option('--wait <duration>', 'how long to wait for a server that is asleep or starting (0)'),
  option('--ca <file>', 'trust server certificates issued by this CA (PEM file)'),
  option('--cert <file>', 'client certificate (PEM file)'),
  option('--key <file>', 'key of the client certificate (PEM file)'),
  option('--insecure', 'do not verify the server certificate (insecure)'),
];

const CREDENTIALS: readonly OptionSpec[] = [
  option('-u, --username <name>', 'user name'),
  option('--password-stdin', 'read the password from stdin'),
  option('--password-file <file>', 'read the password from a file'),
  option('--secret-stdin', 'read the secret from stdin'),
  option('--secret-file <file>', 'read the secret from a file'),
  option('--jwt-stdin', "read an identity provider's JWT from stdin"),
  option('--jwt-file <file>', "read an identity provider's JWT from a file"),
  option('--secret-alias <name>', 'use this saved secret'),
  option(
    '--principal <label>',
    'store the token under this name instead of the user name, so that two jobs can have two tokens',
  ),
];

export const BEHAVIOUR: readonly OptionSpec[] = [
  option('--no-input', 'never ask a question'),
  option('-q, --quiet', 'print no notes; warnings and errors stay'),
  option('-v, --verbose', 'report each request on stderr'),
  option('--no-color', 'print no colours'),
];

export const OUTPUT = outputOption('text', 'json');

const TOKEN_FORMATS = ['text', 'json', 'env', 'header', 'dotenv', 'github', 'gitlab'];
export const FORMATS = [...TOKEN_FORMATS, 'k8s-secret'];
const TOKEN_FILES: readonly OptionSpec[] = [
  option('--shell <shell>', 'with -o env: the syntax of this shell', {
    choices: ['sh', 'fish', 'powershell', 'pwsh', 'cmd'],
  }),
  option('--export', 'with -o github: also set TG_API_TOKEN for later steps'),
  option('--dotenv <file>', 'with -o gitlab: the file to write'),
];
export const TOKEN_GET_OUTPUT = [
  outputOption(...FORMATS),
  ...TOKEN_FILES,
  option('--name <name>', 'with -o k8s-secret: the name of the Secret'),
];

/** The options that commands share, by the headings under which help and the man page show them. */
export const HEADINGS: readonly (readonly [heading: string, options: readonly OptionSpec[]])[] = [
  ['Server and graph', TARGET],
  ['Credentials and store', [...CREDENTIALS, STORE]],
  ['Behaviour', BEHAVIOUR],
];
export const COMMON: readonly OptionSpec[] = HEADINGS.flatMap(([, options]) => options);

/** The options of commands that ask a server, by what they print: a result, or a token. */
export const LISTING: readonly OptionSpec[] = [...COMMON, OUTPUT];
export const TOKENS = [...COMMON, outputOption(...TOKEN_FORMATS), ...TOKEN_FILES, LIFETIME];
export const LOCAL = [OUTPUT, ...BEHAVIOUR];
/** The options that may stand before the command: those of all settings that a command line can give. */
export const SHARED: readonly OptionSpec[] = [...LISTING, LIFETIME, MIN_TTL];
export const RUNNING = [...SHARED, ALL_GRAPHS];

/** Splits a line into options with their values, and other words. An option that is not known is among the latter. */
export function scan(argv: readonly string[], known: readonly OptionSpec[]) {
  const options = known.map(({ name, short, value }) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const);
    return [name, { type, ...(short && { short }) }] as const;
  });
  const { tokens } = process.getBuiltinModule('node:util').parseArgs({
    ...{ args: argv, options: Object.fromEntries(options) },
    ...{ strict: false, allowPositionals: true, tokens: true },
  });
  return tokens.map((token) => {
    const { kind, index: at } = token;
    const word = argv[at] as string;
    if (kind !== 'option') return { at, word };
    const { name, rawName, value, inlineValue: isGlued } = token;
    // kubectl and gh read `-p=prod` like `-p prod`.
    const text = rawName.startsWith('--') ? value : value?.replace(/^=/, '');
    return { at, word, option: known.find((one) => one.name === name), value: text, isGlued };
  });
}

/** Whether `-o json` was typed, for errors that occur before the settings are read. */
export function asksForJson(argv: readonly string[], { GRAPHCRED_OUTPUT }: Context['env']): boolean {
  const typed = scan(argv, SHARED).findLast(({ option }) => option === OUTPUT);
  if (typed) return typed.value === 'json';
  // The sandbox reads no variable.
  return argv[0] !== 'sandbox' && GRAPHCRED_OUTPUT === 'json';
}

const CREDENTIAL_FLAG = /^--(password|secret|token|jwt)(=|$)/;
/** A secret or token of 3.x, or a JWT, as tokens of 4.x are. */
const LOOKS_LIKE_A_SECRET = /^(?:-[A-Za-z]=?|--[a-z-]+=|Bearer )?(?:[a-z0-9]{32}|eyJ[\w-]*\.[\w-]+\.[\w-]*)$/;

/**
 * Refuses a credential among the arguments before anything acts on them: every user of the machine can read a
 * command line, and it stays in the shell's history. The value is never repeated.
 */
export function refuseCredentials(argv: readonly string[]): void {
  // Its --secret is for a secret that it makes itself.
  if (argv[0] === 'sandbox') return;
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  const [name] = options.flatMap((word) => CREDENTIAL_FLAG.exec(word)?.[1] ?? []);
  if (name !== undefined) {
    const file = name === 'token' ? '' : `, --${name}-file FILE or GRAPHCRED_${name.toUpperCase()}`;
    const hint = `use --${name}-stdin${file}; if this ${name} is a real one, replace it`;
    throw usageError(`--${name} is refused: other users can read a command line.`, hint);
  }
  // Nothing after `--` is an option of ours, but only `exec` and `proxy` pass these words to another program.
  const own = argv[0] === 'exec' || argv[0] === 'proxy' ? options : argv;
  if (own.some((word) => LOOKS_LIKE_A_SECRET.test(word)))
    throw usageError('One of the arguments looks like a secret; do not put credentials on a command line.', [
      'name a secret by its alias; to see those',
      { command: 'secret list' },
    ]);
}
