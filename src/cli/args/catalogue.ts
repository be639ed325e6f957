import type { CommandSpec } from '../command.js';
import { CONFIG, LISTING, LOCAL, option, PROFILE, RUNNING, SHARED, STORE, scan, TOKENS } from './options.js';
import { TOKEN_GET } from './parse-token-get.js';

const TOKEN_STDIN = option('--token-stdin', 'read the token from stdin');
const SKIP_MISSING = [
  option('--skip-missing', 'no error if it does not exist'),
  option('--ignore-missing', 'the same'),
];
const YES = option('-y, --yes', 'do not ask for confirmation');
const SECRETS = [
  ...LISTING,
  option('--owner <user>', "work on another user's secrets (4.x, administrators only)"),
];
const REVOKE_MINTED = option('--revoke', 'first revoke the stored tokens made from the secret');

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
      'On a terminal it asks for what is missing, and whether to save a secret. Later commands use the store that you choose here.',
    options: [
      ...SHARED,
      option('--save-password', 'save the password, so that graphcred secret does not ask for it'),
      option('--oidc-issuer <url>', 'log in at this identity provider, in a browser'),
      option('--oidc-client-id <id>', 'the client ID of graphcred at the provider'),
      option('--no-browser', 'print the URL, open no browser'),
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
      option('--offline', 'do not contact the server'),
    ],
  }),
  TOKEN_GET,
  command('token refresh', async () => (await import('../commands/token.js')).refresh, {
    writes: true,
    summary: 'give the cached token a new lifetime, counted from now (3.x)',
    examples: ['graphcred token refresh --lifetime 12h'],
    notes: 'Servers of version 4.x cannot do this; use graphcred token get --fresh there.',
    options: [...TOKENS, TOKEN_STDIN],
  }),
  command('token delete [id...]', async () => (await import('../commands/token.js')).remove, {
    writes: true,
    summary: 'delete cached tokens, on the server and here',
    examples: ['graphcred token delete', 'graphcred token delete --everything'],
    notes: 'graphcred token list shows the ids.',
    options: [
      ...LISTING,
      option('--all', 'the tokens of every graph, of the user or secret in use'),
      option('--everything', 'every token on this machine, of every server and user'),
      ...SKIP_MISSING,
      TOKEN_STDIN,
    ],
  }),
  command('token list', async () => (await import('../commands/token.js')).list, {
    summary: 'list the tokens on this machine: user, server, time left; never the token itself',
    examples: ['graphcred token list', 'graphcred token list -o json'],
    options: [PROFILE, CONFIG, STORE, ...LOCAL],
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
      'The command gets TG_API_TOKEN, TG_HOST, TG_GRAPHNAME, TG_RESTPP_PORT and TG_GS_PORT. Its exit status is passed on. Without a command, on a terminal, it opens your shell with these variables; to leave the shell: exit',
    options: [...RUNNING, option('--revoke', 'get a token for this run, and revoke it when the run ends')],
  }),
  command('proxy [command...]', async () => (await import('../commands/proxy.js')).execute, {
    summary: 'run a local server that adds a valid token to every request',
    examples: ['graphcred proxy -- python3 load.py', 'graphcred proxy --port 9001 --key-file /run/job/key'],
    notes:
      'For programs that run long. The command gets the same variables as with exec, but TG_HOST and the ports are those of the proxy, and TG_API_TOKEN (TG_PASSWORD too, with TG_USERNAME, where the credential logs in) is a key for the proxy alone. Without a command it prints addresses and key as one line of JSON, and Ctrl-C stops it.',
    options: [
      ...RUNNING,
      option('--port <N>', 'listen on this port of 127.0.0.1 (default: a free one)'),
      option('--service-port <N>', 'port for the GSQL server (on 4.x the other port serves both)'),
      option('--key-file <FILE>', 'write the key to this private file, not to stdout'),
    ],
  }),
  command('secret list', async () => (await import('../commands/secret.js')).list, {
    summary: 'list secrets, masked and sorted by alias',
    examples: ['graphcred secret list --graph demo', 'graphcred secret list -p prod -o json'],
    notes:
      'After creation the server never shows the whole value, and it does not report when a secret was made or last used.',
    options: SECRETS,
  }),
  command('secret create [alias]', async () => (await import('../commands/secret.js')).create, {
    writes: true,
    summary: 'create a secret; its value is shown only once',
    examples: ['graphcred secret create ci --graph demo', 'graphcred secret create ci --save'],
    notes: 'It needs a login: a password, a secret or a JWT. Without an alias the server makes one up.',
    options: [...SECRETS, option('--save', 'keep the value in the store and print no value')],
  }),
  command('secret drop <alias...>', async () => (await import('../commands/secret.js')).drop, {
    writes: true,
    summary: 'drop secrets by alias',
    examples: ['graphcred secret drop ci', 'graphcred secret drop old older --ignore-missing --yes'],
    options: [...SECRETS, ...SKIP_MISSING, REVOKE_MINTED, option('-y, --yes', 'do not ask about several')],
  }),
  command('secret rotate <alias>', async () => (await import('../commands/secret.js')).rotate, {
    writes: true,
    summary: 'replace the value of a secret; at each moment the old value works or the new one',
    examples: ['graphcred secret rotate ci', 'graphcred secret rotate ci -p prod -o json'],
    notes: 'If it is interrupted, run it again: it continues where it stopped.',
    options: [...SECRETS, option('--print', 'print the new value even if it is saved here'), REVOKE_MINTED],
  }),
  command('secret prune', async () => (await import('../commands/secret.js')).prune, {
    writes: true,
    summary: 'drop generated secrets (AUTO_GENERATED_ALIAS_*), never one that this machine uses',
    examples: ['graphcred secret prune --dry-run', 'graphcred secret prune --yes'],
    notes:
      'Programs elsewhere that made a secret without a name may use these secrets; on 3.x tokens made from them end at once.',
    options: [...SECRETS, option('--dry-run', 'only list what would be dropped'), YES],
  }),
  command('logout', async () => (await import('../commands/logout.js')).execute, {
    writes: true,
    summary: 'delete the stored tokens, secrets and password of this user',
    examples: ['graphcred logout -p prod', 'graphcred logout --revoke'],
    options: [
      ...LISTING,
      option('--revoke', 'delete the cached tokens on the server first'),
      option('--all', 'delete what is stored of every server and user'),
      option('-y, --yes', 'do not ask before deleting everything'),
    ],
  }),
  command('profile list', async () => (await import('../commands/profile.js')).list, {
    summary: 'list the profiles of the config file in use; * marks the default one',
    examples: ['graphcred profile list', 'graphcred profile list -o json'],
    options: [CONFIG, ...LOCAL],
  }),
  command('profile use <name>', async () => (await import('../commands/profile.js')).use, {
    worksWithoutProjectFile: true,
    summary: 'make a profile the default one',
    examples: ['graphcred profile use prod'],
    options: LOCAL,
  }),
  command('profile remove <name>', async () => (await import('../commands/profile.js')).remove, {
    summary: 'remove a profile, with its tokens, secrets and password on this machine',
    examples: ['graphcred profile remove old', 'graphcred profile remove old --yes'],
    notes:
      'Secrets and tokens stay valid on the server, and a login at its identity provider. To revoke tokens and login first: graphcred logout -p NAME --revoke',
    options: [...LOCAL, option('-y, --yes', 'do not ask before removing')],
  }),
  command('config show', async () => (await import('../commands/config.js')).show, {
    worksWithoutProjectFile: true,
    summary: 'every setting, its value, its source, and the values it overrides',
    examples: ['graphcred config show', 'graphcred config show -p prod -o json'],
    options: SHARED,
  }),
  command('config trust [file]', async () => (await import('../commands/config.js')).trust, {
    summary: 'trust a config file until its content changes',
    examples: ['graphcred config trust', 'graphcred config trust ./.graphcredrc'],
    notes:
      'A config file in a project folder may not send your credentials anywhere until you have approved it.',
    options: [CONFIG, ...LOCAL],
  }),
  command('config path', async () => (await import('../commands/config.js')).where, {
    worksWithoutProjectFile: true,
    summary: 'print the path of the config file in use',
    examples: ['graphcred config path'],
    options: [PROFILE, CONFIG, ...LOCAL],
  }),
  command('api <path>', async () => (await import('../commands/api.js')).execute, {
    summary: 'send one request with the token, and print the answer',
    examples: [
      "graphcred api '/graph/demo/vertices/Person?limit=2'",
      'graphcred api /graph/demo -d @vertices.json',
      'graphcred api --service /gsqlserver/gsql/file -d @schema.gsql',
    ],
    notes:
      'The answer is printed unchanged. --service sends the login in place of the token (GSQL statements on 4.x: /gsql/v1/statements). When the server refuses the request, or a GSQL statement fails, the exit status is 3 (404), 4 (token or login refused) or 8.',
    options: [
      ...SHARED,
      option('-X, --method <method>', 'GET, or POST with -d'),
      option('-d, --data <body>', 'what to send: the text itself, @FILE, or - for stdin'),
      option('-i, --include', 'print status and headers first'),
      option('--service', 'send it to the GSQL server, with the login'),
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
    summary: 'run a local imitation of both servers, for practice and tests',
    examples: ["graphcred sandbox --server-version 4.1.2 -- sh -c 'graphcred secret list'"],
    notes: 'It is not the real database. It listens on this machine only; with a command, on free ports.',
    options: [
      option('--server-version <version>', '3.10.1, or 3.2.0, 3.9.3, 4.1.2, 4.2.0, 4.3.0'),
      option('--host <address>', 'loopback address to listen on (127.0.0.1)'),
      option('--rest-port <port>', 'port of the REST server; 0: a free one (9000)'),
      option('--gsql-port <port>', 'port of the GSQL server; 0: a free one (14240)'),
      option('--rest-auth <on|off>', 'REST authentication (on)', { choices: ['on', 'off'] }),
      option('--user <name:password[:role]>', 'superuser, admin or reader; repeatable', { repeat: true }),
      option('--graph <name>', 'a graph (demo); repeatable', { repeat: true }),
      option('--secret <alias:value:user:graph>', 'a secret from the start; repeatable', { repeat: true }),
      option('--state <file>', 'keep the state in this file'),
      option('--lifetime-unit <s|ms>', 'the unit in which 4.x reads lifetimes (s)', { choices: ['s', 'ms'] }),
      option('--tls <cert:key>', 'serve https with these PEM files'),
      option('--jwt-key <file>', 'accept JWTs signed with this key (PEM or text)'),
      option('--jwt-issuer <text>', 'the iss that such a JWT must have'),
      option('--jwt-audience <text>', 'the aud that such a JWT must have'),
      option('--fault <spec>', 'simulate a fault: docs/dev/sandbox.md; repeatable', { repeat: true }),
      ...LOCAL.filter((o) => o.name === 'quiet' || o.name === 'verbose'),
    ],
  }),
];

export const GROUPS: Readonly<Record<string, string>> = {
  token: 'short-lived tokens for the REST server: get, refresh, delete',
  secret: 'long-lived secrets, which tokens are made from: create, list, drop',
  profile: 'list profiles, choose the default one, remove one',
  config: 'look at settings, and trust a config file',
};

export function commandOf(argv: readonly string[]): CommandSpec | undefined {
  return COMMANDS.find(({ path, alias }) =>
    path.split(' ').every((word, at) => argv[at] === word || (at === 1 && argv[at] === (alias ?? word))),
  );
}

/** Moves shared options before or inside the command behind it; help needs none. Any other line stays. */
export function commandFirst(argv: readonly string[]): readonly string[] {
  const [first, second] = scan(argv, SHARED).filter(({ option }) => option === undefined);
  if (first === undefined) return argv;
  if (first.word === 'help' || first.word === 'version') return argv.slice(first.at);
  const count = commandOf([first.word, second?.word ?? ''])?.path.split(' ').length ?? 0;
  const at = [first.at, second?.at ?? -1].slice(0, count);
  return [...at.map((index) => `${argv[index]}`), ...argv.filter((_, index) => !at.includes(index))];
}
