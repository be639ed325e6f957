import fs from 'node:fs';
import path from 'node:path';
import { times } from '../app/format.js';
import type { CachedToken } from '../app/tokens/token-cache.js';
import { GraphException } from '../core/errors.js';
import { isoSeconds } from '../core/time.js';
import { isReplaceable } from '../files/private-files.js';
import type { Invocation, Session } from './command.js';
import { append, requireRunnerFiles, runnerCommand, written } from './github.js';

interface Format {
  /** The option that only this format has. */
  readonly flag?: string;
  /** Checks what the format needs besides the token. @throws GraphException INPUT_REQUIRED, USAGE */
  readonly check?: (session: Session) => void;
  readonly print: (session: Session, token: string, held: CachedToken) => void;
}

const FORMATS: Readonly<Record<string, Format>> = {
  text: { print: ({ report }, token) => report.result(token) },
  json: {
    print: ({ report, graph, target }, token, held) => {
      const { lifetimeSeconds, source, serverVersion } = held;
      const life = { ...times('expires', held.expiresAtUnix), lifetimeSeconds };
      const where = { serverVersion, graph: graph ?? null, host: target.host };
      report.document({ token, ...life, source, ...where });
    },
  },
  header: { print: ({ report }, token) => report.result(`Authorization: Bearer ${token}`) },
  // Docker takes quotes for a part of the value. A token has no character that would need them.
  dotenv: { print: ({ report }, token) => report.result(`TG_API_TOKEN=${token}`) },
  github: {
    flag: 'export',
    check: requireGithub,
    print: (session, token, { expiresAtUnix }) => toGithub(session, token, isoSeconds(expiresAtUnix)),
  },
  gitlab: { flag: 'dotenv', check: requireDotenv, print: toGitlab },
  env: {
    flag: 'shell',
    print: ({ ctx: { platform, env }, flags, report }, token) => {
      // On Windows, a POSIX shell says so in these variables; else the caller is taken for PowerShell.
      const calling = platform === 'win32' && !env.SHELL && !env.MSYSTEM ? 'powershell' : 'sh';
      report.result(assignment('TG_API_TOKEN', token, String(flags.shell ?? calling)));
    },
  },
  'k8s-secret': {
    flag: 'name',
    check: ({ flags }) => requireName(flags.name),
    print: ({ flags, report }, _, held) => report.result(kubernetesSecret(flags.name as string, held)),
  },
};

/**
 * Returns a line that sets a variable when the shell evaluates it, whatever the value contains.
 * @throws GraphException USAGE for a value that cmd cannot hold safely
 */
export function assignment(name: string, value: string, shell = 'sh'): string {
  switch (shell) {
    case 'fish':
      return `set -gx ${name} '${value.replace(/[\\']/g, '\\$&')}'`;
    case 'cmd':
      if (/["%!\r\n\0]/.test(value))
        throw new GraphException('USAGE', 'cmd cannot hold this token safely.', {
          hint: 'use another shell, for example --shell powershell',
        });
      return `set "${name}=${value}"`;
    case 'powershell':
    case 'pwsh':
      // Single quotes of every kind PowerShell takes for one are doubled, as its documentation says.
      return `$env:${name} = '${value.replace(/['\u2018\u2019\u201a\u201b]/g, '$&$&')}'`;
    default:
      return `export ${name}='${value.replace(/'/g, "'\\''")}'`;
  }
}

/** @throws GraphException INPUT_REQUIRED, USAGE naming what is missing or cannot be written */
function requireDotenv({ ctx, flags }: Invocation): void {
  if (flags.dotenv === undefined)
    throw new GraphException('INPUT_REQUIRED', '-o gitlab needs a file to write to.', {
      hint: 'give --dotenv FILE',
    });
  const file = path.resolve(ctx.cwd, flags.dotenv as string);
  let plain = true;
  written(file, () => {
    // The slash makes it an error that a file is in the way of the folder.
    fs.accessSync(`${path.dirname(file)}/`, fs.constants.W_OK);
    plain = isReplaceable(file);
  });
  if (!plain)
    throw new GraphException('USAGE', `--dotenv must be a regular file: ${file}`, {
      hint: 'give --dotenv a file that may be replaced; to print the token leave -o gitlab out',
    });
}

/** @throws GraphException INPUT_REQUIRED, USAGE naming what is missing or cannot be written */
function requireGithub({ ctx, flags }: Invocation): void {
  if (ctx.stdout.whyLost)
    throw new GraphException('USAGE', 'Nobody reads standard output, so the token cannot be masked.', {
      hint: 'leave > /dev/null out: -o github prints the command that masks the token',
    });
  const names = flags.export === true ? ['GITHUB_OUTPUT', 'GITHUB_ENV'] : ['GITHUB_OUTPUT'];
  requireRunnerFiles(ctx.env, names, '-o github');
}

/** Prints the command that masks the token, and only then writes the token where later steps find it. */
export function toGithub(invocation: Invocation, token: string, expiresAt: string): void {
  const { ctx, flags, report } = invocation;
  report.raw(runnerCommand('add-mask', token), true);
  append(ctx.env.GITHUB_OUTPUT, { token, 'expires-at': expiresAt });
  if (flags.export === true) append(ctx.env.GITHUB_ENV, { TG_API_TOKEN: token });
}

/** Writes a dotenv report. GitLab reads it after the job and cannot mask the token while the job runs. */
export function toGitlab({ ctx, flags, report }: Invocation, token: string): void {
  if (/[\r\n]/.test(token))
    throw new GraphException('BAD_RESPONSE', 'This token cannot stand in a dotenv file.', {
      hint: 'use another format, for example -o env',
    });
  const file = path.resolve(ctx.cwd, flags.dotenv as string);
  written(file, () => {
    const { O_RDWR, O_WRONLY, O_TRUNC, O_CREAT, O_NOFOLLOW = 0 } = fs.constants;
    const fd = fs.openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    let before: string[];
    try {
      fs.fchmodSync(fd, 0o600);
      before = fs.readFileSync(fd, 'utf8').split('\n');
    } finally {
      fs.closeSync(fd);
    }
    const others = before.filter((line) => line !== '' && !line.startsWith('TG_API_TOKEN='));
    const text = [...others, `TG_API_TOKEN=${token}`, ''].join('\n');
    // Written in place: if the process is killed, a temporary file with the token would stay in the project.
    fs.writeFileSync(file, text, { flag: (O_WRONLY | O_TRUNC | O_NOFOLLOW) as unknown as string });
  });
  report.note(`wrote ${file}; GitLab does not mask values of a dotenv report in the log, so do not print it`);
}

/**
 * Prints a token in the format asked for.
 * @throws GraphException USAGE when it cannot be written where it should go
 */
export function printToken(session: Session, held: CachedToken): void {
  try {
    FORMATS[session.output]?.print(session, held.token.reveal(), held);
  } catch (error) {
    if (held.source !== 'server' || !(error instanceof GraphException)) throw error;
    const hint = `a token was made and lives until ${isoSeconds(held.expiresAtUnix)}; if a store keeps it, graphcred token get prints it`;
    throw new GraphException(error.code, error.message, { hint });
  }
}

/** Checks the output format before a token is minted, since some formats need more than the token. */
export function checkOutput(session: Session): void {
  const { flags, output } = session;
  for (const [format, { flag = '' }] of Object.entries(FORMATS)) {
    if (flags[flag] === undefined || output === format) continue;
    // Without a format the bare token would be printed.
    throw new GraphException('USAGE', `--${flag} is for -o ${format}, not for -o ${output}.`, {
      hint: `add -o ${format}, or leave --${flag} out`,
    });
  }
  FORMATS[output]?.check?.(session);
}

/** Matches a DNS subdomain (RFC 1123), which Kubernetes requires of names. */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MOST_LETTERS = 253;

/**
 * Checks that a name is given and valid in Kubernetes.
 * @throws GraphException INPUT_REQUIRED, USAGE
 */
export function requireName(name: unknown): void {
  if (typeof name !== 'string') {
    throw new GraphException('INPUT_REQUIRED', '-o k8s-secret needs a name for the Secret.', {
      hint: 'give --name NAME',
    });
  }
  if (NAME.test(name) && name.length <= MOST_LETTERS) return;
  throw new GraphException('USAGE', 'Invalid Kubernetes Secret name.', {
    hint: 'use lower-case letters, digits, - and ., for example --name graph-token',
  });
}

/**
 * Returns a Secret for `kubectl apply -f -`. It is written as JSON, which is valid YAML, so that no value can change
 * its structure.
 */
function kubernetesSecret(name: string, { token, expiresAtUnix, lifetimeSeconds }: CachedToken): string {
  const annotations = {
    'graphcred/minted-at': isoSeconds(expiresAtUnix - lifetimeSeconds),
    'graphcred/expires-at': isoSeconds(expiresAtUnix),
  };
  const stringData = { token: token.reveal() };
  const metadata = { name, annotations };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData };
  return JSON.stringify(secret, undefined, 2);
}
