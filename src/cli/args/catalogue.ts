import type { CommandSpec } from '../command.js';
import {
  ALL_GRAPHS,
  BEHAVIOUR,
  COMMON,
  CONFIG,
  LIFETIME,
  OUTPUT,
  option,
  PROFILE,
  SHARED,
  STORE,
  scan,
  TOKEN_OUTPUT,
} from './options.js';
import { TOKEN_GET } from './parse-token-get.js';

const LISTING = [...COMMON, OUTPUT];
const TOKEN_STDIN = option('--token-stdin', 'read the token from stdin');
/** Two names of one option, because people mix them up. */
const SKIP_MISSING = [
  option('--skip-missing', 'what is not there is no error'),
  option('--ignore-missing', 'the same'),
];
const YES = option('-y, --yes', 'answer the question with yes');
const OWNER = option('--owner <user>', "another user's secrets (4.x, administrators)");
const REVOKE_MINTED = option('--revoke', 'first revoke the stored tokens that were minted from it');
/** The options of commands that change the user's config file and send no request to a server. */
const FILE_ONLY = [OUTPUT, ...BEHAVIOUR];

/** The short names of the last word of a command. */
const ALIASES: Readonly<Record<string, string>> = { list: 'ls', drop: 'rm', delete: 'rm', remove: 'rm' };

/** Describes a command. @param usage its words, and the words after them, as commander and help write them */
function command(
  usage: string,
  load: CommandSpec['load'],
  rest: Omit<CommandSpec, 'path' | 'alias' | 'argument' | 'passThrough' | 'load'>,
): CommandSpec {
  const [, path = '', last = '', argument] = /^((?:\w+ )?(\w+))(?: (\W.*))?$/.exec(usage) ?? [];
  return { path, alias: ALIASES[last], argument, passThrough: argument === '[command...]', load, ...rest };
}

export const COMMANDS: readonly CommandSpec[] = [
  command('login', async () => (await import('../commands/login.js')).execute, {
    writes: true,
    summary: 'log in and save a profile',
    examples: [
      'graphcred login',
      'graphcred login -p prod --host https://graph.example.com -u alice',
      'graphcred login -p work --oidc-issuer URL --oidc-client-id graphcred',
    ],
    notes:
      'On a terminal it asks for what is missing, and whether to keep a secret. Later commands use the store named here.',
    options: [
      ...SHARED,
      option('--save-password', 'keep the password, so that secret commands do not ask'),
      option('--oidc-issuer <url>', 'log in at this identity provider, in a browser'),
      option('--oidc-client-id <id>', 'the client that graphcred is there'),
      option('--no-browser', 'only print the URL'),
      option('--device', 'print a URL and a code to enter on another device'),
    ],
  }),
  command('status', async () => (await import('../commands/status.js')).execute, {
    asksNothing: true,
    summary: 'show server, user, credential and token, and what to type next',
    examples: ['graphcred status', 'graphcred status --all-profiles -o json'],
    options: [
      ...LISTING,
      option('--all-profiles', 'every profile of the config file'),
      option('--offline', 'ask no server'),
    ],
  }),
  TOKEN_GET,
  command('token refresh', async () => (await import('../commands/token.js')).refresh, {
    writes: true,
    summary: 'give the cached token a new lifetime, counted from now (3.x)',
    examples: ['graphcred token refresh --lifetime 12h'],
    notes: 'Servers of version 4.x cannot do this; there: graphcred token get --fresh',
    options: [...COMMON, ...TOKEN_OUTPUT, LIFETIME, TOKEN_STDIN],
  }),
  command('token delete [id...]', async () => (await import('../commands/token.js')).remove, {
    writes: true,
    summary: 'delete cached tokens, on the server and here',
    examples: [
      'graphcred token delete',
      'graphcred token delete --all',
      'graphcred token delete --everything',
    ],
    notes: 'An id names a row of graphcred token list.',
    options: [
      ...LISTING,
      option('--all', 'of every graph, for this server and user'),
      option('--everything', 'every token of this machine, of every server and user'),
      ...SKIP_MISSING,
      TOKEN_STDIN,
    ],
  }),
  command('token list', async () => (await import('../commands/token.js')).list, {
    summary: 'what this machine holds: whose, where, time left; never a token',
    examples: ['graphcred token list', 'graphcred token list -o json'],
    options: [PROFILE, CONFIG, STORE, ...FILE_ONLY],
  }),
  command('token check', async () => (await import('../commands/token.js')).check, {
    summary: 'ask the server whether it accepts the token',
    examples: ['graphcred token check', 'printenv TOKEN | graphcred token check --token-stdin'],
    options: [...LISTING, TOKEN_STDIN],
  }),
  command('exec [command...]', async () => (await import('../commands/exec.js')).execute, {
    summary: 'run a command with a token in its environment (TG_API_TOKEN)',
    examples: [
      'graphcred exec -- python3 load.py',
      'graphcred exec --revoke --lifetime 15m -- ./nightly.sh',
      'graphcred exec -p prod',
    ],
    notes:
      'The command gets TG_API_TOKEN, TG_HOST, TG_GRAPHNAME, TG_RESTPP_PORT and TG_GS_PORT. Its exit status is passed on. Without a command, on a terminal, your shell is opened with them; exit leaves it.',
    options: [
      ...SHARED,
      ALL_GRAPHS,
      option('--revoke', 'mint a token for this run, and revoke it at its end'),
    ],
  }),
  command('proxy [command...]', async () => (await import('../commands/proxy.js')).execute, {
    summary: 'a local server that adds a valid token to every request',
    examples: [
      'graphcred proxy -- python3 load.py',
      'graphcred proxy --port 9001 --key-file /run/shared/key',
    ],
    notes:
      'For programs that run long. The command gets what exec gives, but TG_HOST and the ports are those of the proxy, and TG_API_TOKEN is a key for it alone. Without a command one line of JSON tells addresses and key, and Ctrl-C stops the proxy.',
    options: [
      ...SHARED,
      ALL_GRAPHS,
      option('--port <N>', 'listen on this port of 127.0.0.1 (default: a free one)'),
      option('--service-port <N>', 'the same for the GSQL server (3.x; on 4.x both are one)'),
      option('--key-file <FILE>', 'write the key to this private file, not to stdout'),
    ],
  }),
  command('secret list', async () => (await import('../commands/secret.js')).list, {
    summary: 'masked secrets, sorted by alias',
    examples: ['graphcred secret list --graph demo', 'graphcred secret list -p prod -o json'],
    notes:
      'The server itself never shows the whole value again, and does not tell when a secret was made or last used.',
    options: [...LISTING, OWNER],
  }),
  command('secret create [alias]', async () => (await import('../commands/secret.js')).create, {
    writes: true,
    summary: 'create a secret; its value is shown this once',
    examples: ['graphcred secret create ci --graph demo', 'graphcred secret create ci --save'],
    notes: 'It needs a login: a password, a secret or a JWT. Without an alias the server makes one up.',
    options: [...LISTING, OWNER, option('--save', 'keep the value in the store and print no value')],
  }),
  command('secret drop <alias...>', async () => (await import('../commands/secret.js')).drop, {
    writes: true,
    summary: 'drop secrets by alias',
    examples: ['graphcred secret drop ci', 'graphcred secret drop old older --ignore-missing --yes'],
    options: [...LISTING, OWNER, ...SKIP_MISSING, REVOKE_MINTED, YES],
  }),
  command('secret rotate <alias>', async () => (await import('../commands/secret.js')).rotate, {
    writes: true,
    summary: 'a new value under the same alias, never a moment without a working secret',
    examples: ['graphcred secret rotate ci', 'graphcred secret rotate ci -p prod -o json'],
    notes: 'If it is stopped on the way, run it again: it continues where it stopped.',
    options: [
      ...LISTING,
      OWNER,
      option('--print', 'print the new value also where the old one was saved here'),
      REVOKE_MINTED,
    ],
  }),
  command('secret prune', async () => (await import('../commands/secret.js')).prune, {
    writes: true,
    summary: 'drop generated secrets (AUTO_GENERATED_ALIAS_*), never one that this machine uses',
    examples: ['graphcred secret prune --dry-run', 'graphcred secret prune --yes'],
    notes:
      'Programs elsewhere that made a secret without a name use these; on 3.x the tokens minted from them end at once.',
    options: [...LISTING, OWNER, option('--dry-run', 'only list what would be dropped'), YES],
  }),
  command('logout', async () => (await import('../commands/logout.js')).execute, {
    writes: true,
    summary: 'delete the stored tokens, secrets and password of this user',
    examples: ['graphcred logout -p prod', 'graphcred logout --revoke'],
    options: [
      ...LISTING,
      option('--revoke', 'delete the cached tokens on the server first'),
      option('--all', 'of every server and user'),
      option('-y, --yes', 'do not ask before deleting everything'),
    ],
  }),
  command('profile list', async () => (await import('../commands/profile.js')).list, {
    summary: 'the profiles of the config file in force; * marks the default one',
    examples: ['graphcred profile list', 'graphcred profile list -o json'],
    options: [CONFIG, ...FILE_ONLY],
  }),
  command('profile use <name>', async () => (await import('../commands/profile.js')).use, {
    worksWithoutProjectFile: true,
    summary: 'make a profile the default one',
    examples: ['graphcred profile use prod'],
    options: FILE_ONLY,
  }),
  command('profile remove <name>', async () => (await import('../commands/profile.js')).remove, {
    summary: 'remove a profile, with its tokens, secrets and password on this machine',
    examples: ['graphcred profile remove old', 'graphcred profile remove old --yes'],
    notes:
      'The server keeps its secrets and tokens, and a provider its login. To revoke tokens and login first: graphcred logout -p NAME --revoke',
    options: [...FILE_ONLY, option('-y, --yes', 'do not ask before removing')],
  }),
  command('config show', async () => (await import('../commands/config.js')).show, {
    worksWithoutProjectFile: true,
    summary: 'every setting, its value, where it comes from and what it hides',
    examples: ['graphcred config show', 'graphcred config show -p prod -o json'],
    options: SHARED,
  }),
  command('config trust [file]', async () => (await import('../commands/config.js')).trust, {
    summary: 'trust a config file until its content changes',
    examples: ['graphcred config trust', 'graphcred config trust ./.graphcredrc'],
    notes:
      'A config file in a project folder may not send your credentials anywhere until you have approved it.',
    options: [CONFIG, ...FILE_ONLY],
  }),
  command('config path', async () => (await import('../commands/config.js')).where, {
    worksWithoutProjectFile: true,
    summary: 'the config file in force',
    examples: ['graphcred config path'],
    options: [PROFILE, CONFIG, ...FILE_ONLY],
  }),
  command('api <path>', async () => (await import('../commands/api.js')).execute, {
    summary: 'send one request with the token, and print the answer',
    examples: [
      "graphcred api '/graph/demo/vertices/Person?limit=2'",
      'graphcred api /graph/demo -d @vertices.json',
      'graphcred api --service /gsql/v1/version',
    ],
    notes:
      'The answer is printed as it came. --service sends the login in place of the token. A server that says no is exit 3 (404), 4 (token or login refused) or 8, and so is a GSQL statement that failed.',
    options: [
      ...SHARED,
      option('-X, --method <method>', 'GET, or POST with -d'),
      option('-d, --data <body>', 'what to send: the text itself, @FILE, or - for stdin'),
      option('-i, --include', 'print status and headers first'),
      option('--service', 'ask the GSQL server, with the login'),
    ],
  }),
  command('doctor', async () => (await import('../commands/doctor.js')).execute, {
    asksNothing: true,
    worksWithoutProjectFile: true,
    summary: 'check settings, network, server, credential and store',
    examples: ['graphcred doctor', 'graphcred doctor -p prod -o json'],
    notes: 'It asks no question, changes nothing, and shows no credential: safe to paste into a ticket.',
    options: LISTING,
  }),
  command('completion <shell>', async () => (await import('../commands/completion.js')).execute, {
    summary: 'print the completion script of a shell',
    examples: [
      'source <(graphcred completion bash)',
      'graphcred completion fish > ~/.config/fish/completions/graphcred.fish',
    ],
    notes:
      'bash: save the output as ~/.local/share/bash-completion/completions/graphcred, or add the first example to ~/.bashrc. zsh: save it as _graphcred in a folder of $fpath, or add source <(graphcred completion zsh) to ~/.zshrc after compinit. fish: the second example. PowerShell: add graphcred completion powershell | Out-String | Invoke-Expression to the file that $PROFILE names. Then open a new shell.',
    choices: ['bash', 'zsh', 'fish', 'powershell', 'pwsh'],
    options: [],
  }),
  command('sandbox [command...]', async () => (await import('../commands/sandbox.js')).execute, {
    summary: 'a local imitation of both servers, to try things and for tests',
    examples: ["graphcred sandbox --server-version 4.1.2 -- sh -c 'graphcred secret list'"],
    notes: 'Not the database. Listens on this machine only; with a command, on free ports.',
    options: [
      option('--server-version <version>', '3.10.1, or 3.2.0, 3.9.3, 4.1.2, 4.2.0, 4.3.0'),
      option('--host <address>', 'loopback address to listen on (127.0.0.1)'),
      option('--rest-port <port>', 'port of the REST server; 0: a free one (9000)'),
      option('--gsql-port <port>', 'port of the GSQL server; 0: a free one (14240)'),
      option('--rest-auth <on|off>', 'REST authentication (on)', { choices: ['on', 'off'] }),
      option('--user <name:password[:role]>', 'role superuser, admin, reader; repeatable', { repeat: true }),
      option('--graph <name>', 'a graph (demo); repeatable', { repeat: true }),
      option('--secret <alias:value:user:graph>', 'exists from the start; repeatable', { repeat: true }),
      option('--state <file>', 'keep the state in this file'),
      option('--lifetime-unit <s|ms>', 'how 4.x reads lifetimes (s)', { choices: ['s', 'ms'] }),
      option('--tls <cert:key>', 'serve https with these PEM files'),
      option('--jwt-key <file>', 'take JWTs of this key: public (PEM), or a secret'),
      option('--jwt-issuer <text>', 'the iss that such a JWT must have'),
      option('--jwt-audience <text>', 'the aud that such a JWT must have'),
      option('--fault <spec>', 'misbehave; see docs/dev/sandbox.md; repeatable', { repeat: true }),
      ...BEHAVIOUR.filter((o) => o.name === 'quiet' || o.name === 'verbose'),
    ],
  }),
];

export const GROUPS: Readonly<Record<string, string>> = {
  token: 'short-lived tokens for the REST server: get, refresh, delete',
  secret: 'long-lived secrets, which tokens are made from: create, list, drop',
  profile: 'list profiles, choose the default one, remove one',
  config: 'look at settings, and trust a config file',
};

/** Returns the command that the line begins with. */
export function commandOf(argv: readonly string[]): CommandSpec | undefined {
  return COMMANDS.find(({ path, alias }) =>
    path
      .split(' ')
      .every((word, at) => argv[at] === word || (at === 1 && alias !== undefined && argv[at] === alias)),
  );
}

/**
 * Moves options that stand before the command behind it, where every command expects them. If one of them is not a
 * shared option, or no command follows, the line is left unchanged, and the parser reports the error.
 */
export function commandFirst(argv: readonly string[]): readonly string[] {
  const at = scan(argv, SHARED).find(({ option }) => option === undefined)?.at ?? 0;
  const rest = argv.slice(at);
  const words = commandOf(rest)?.path.split(' ').length ?? 0;
  return words === 0 ? argv : [...rest.slice(0, words), ...argv.slice(0, at), ...rest.slice(words)];
}
