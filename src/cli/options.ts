/**
 * Every option of every command, as data: commander, the fast path, completion, the man page and the
 * reference in docs/ are all made from it.
 */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in help; absent for a switch. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly repeat?: boolean;
  readonly help: string;
}

const option = (name: string, help: string, value?: string, more: Partial<OptionSpec> = {}): OptionSpec => ({
  name,
  help,
  ...(value === undefined ? {} : { value }),
  ...more,
});

export const LIFETIME = option(
  'lifetime',
  'how long a new token lives: 90 (seconds), 15m, 12h, 30d (default), 1w',
  'duration',
);
export const MIN_TTL = option(
  'min-ttl',
  'a held token with less life left than this is replaced',
  'duration',
);
export const TOKEN_STDIN = option('token-stdin', 'read the token from stdin');
export const YES = option('yes', 'do not ask before dropping', undefined, { short: 'y' });
const STORE = option('store', 'where tokens are kept, for this call only', 'store', {
  choices: ['keychain', 'file', 'none'],
});
const OUTPUT_HELP = 'how the result is printed';

/** Which server, which graph, which files. */
const TARGET: readonly OptionSpec[] = [
  option('profile', 'use the settings of this profile', 'name', { short: 'p' }),
  option('config', 'use this config file', 'file'),
  option('host', 'server, as a URL without port: https://graph.example.com', 'url'),
  option('rest-port', 'port of the REST server (9000)', 'port'),
  option('gsql-port', 'port of the service server (14240)', 'port'),
  option('rest-url', 'REST server, as a URL with port; instead of host and port', 'url'),
  option('gsql-url', 'service server, as a URL with port; instead of host and port', 'url'),
  option('graph', 'graph to work on', 'name'),
  option('server-version', 'auto (default), 3, 4, or a version such as 3.10.1', 'version'),
  option('timeout', 'give up when the whole call takes longer (30s)', 'duration'),
  option('wait', 'how long to wait for a server that is asleep or starting (0)', 'duration'),
  option('ca', 'believe servers with a certificate of this authority, PEM', 'file'),
  option('cert', 'client certificate, PEM', 'file'),
  option('key', 'key of the client certificate, PEM', 'file'),
  option('insecure', 'accept any server certificate: others may read along'),
];

/** Who asks. */
const CREDENTIALS: readonly OptionSpec[] = [
  option('username', 'user name', 'name', { short: 'u' }),
  option('password-stdin', 'read the password from stdin'),
  option('password-file', 'read the password from a file', 'file'),
  option('secret-stdin', 'read the secret from stdin'),
  option('secret-file', 'read the secret from a file', 'file'),
];

export const BEHAVIOUR: readonly OptionSpec[] = [
  option('no-input', 'never ask a question'),
  option('quiet', 'print no notes; warnings and errors stay', undefined, { short: 'q' }),
  option('verbose', 'say on stderr what is being done', undefined, { short: 'v' }),
  option('no-color', 'print no colours'),
];

export const OUTPUT: OptionSpec = option('output', OUTPUT_HELP, 'format', {
  short: 'o',
  choices: ['text', 'json'],
});

/** For commands whose result is a token. */
export const TOKEN_OUTPUT: readonly OptionSpec[] = [
  option('output', OUTPUT_HELP, 'format', {
    short: 'o',
    choices: ['text', 'json', 'env', 'header', 'github', 'gitlab'],
  }),
  option('shell', 'dialect of -o env', 'shell', { choices: ['sh', 'fish', 'powershell'] }),
  option('export', 'with -o github: also set TG_API_TOKEN for later steps'),
  option('dotenv', 'with -o gitlab: the file to write', 'file'),
];

/** What commands have in common, by the headings under which help and the man page show it. */
export const HEADINGS: readonly (readonly [heading: string, options: readonly OptionSpec[]])[] = [
  ['Server and graph', TARGET],
  ['Credentials and store', [...CREDENTIALS, STORE]],
  ['Behaviour', BEHAVIOUR],
];
export const COMMON: readonly OptionSpec[] = HEADINGS.flatMap(([, options]) => options);
