import fs from 'node:fs';
import path from 'node:path';
import { times } from '../app/format.js';
import { getToken } from '../app/tokens/get-token.js';
import type { Token } from '../app/tokens/token-cache.js';
import { GraphException, usageError } from '../core/errors.js';
import { isoSeconds } from '../core/time.js';
import { isReplaceable } from '../files/private-files.js';
import { graphOf, type Run } from '../run/run.js';
import type { Invocation } from './command.js';
import { appendPairs, requireRunnerFiles, runnerCommand, written } from './github.js';
import { escapeControls } from './output/plain.js';
import { openRun } from './session.js';

interface Format {
  readonly flag?: string;
  /** How that option is typed, where the format cannot do without it. */
  readonly needs?: string;
  /** Checks what else the format needs besides the token. @throws GraphException INPUT_REQUIRED, USAGE */
  readonly check?: (invocation: Invocation) => void;
  readonly print: (invocation: Invocation, token: string, held: Token, run: Run) => void;
}

const PRINTERS: Readonly<Record<string, Format>> = {
  text: { print: ({ report }, token) => report.result(token) },
  json: {
    print: ({ report }, token, held, run) => {
      const { lifetime: lifetimeSeconds, serverVersion, issuedBy } = held.life;
      const source = issuedBy ? 'identity' : held.isCached ? 'store' : 'server';
      const life = { ...times('expires', held.expiresAtUnix), lifetimeSeconds };
      const where = { serverVersion, graph: graphOf(run) ?? null, host: run.target.host };
      report.document({ token, ...life, source, ...where });
    },
  },
  header: { print: ({ report }, token) => report.result(`Authorization: Bearer ${token}`) },
  dotenv: { print: ({ report }, token) => report.result(assignment('TG_API_TOKEN', token, 'dotenv')) },
  github: {
    flag: 'export',
    check: ({ ctx, flags }) => {
      // It prints the command that masks the token.
      ctx.stdout.mustArrive();
      const names = ['GITHUB_OUTPUT', ...(flags.export === true ? ['GITHUB_ENV'] : [])];
      requireRunnerFiles(ctx.env, names, '-o github');
    },
    print: toGithub,
  },
  gitlab: {
    flag: 'dotenv',
    needs: '--dotenv FILE',
    check: (invocation) => {
      const file = fileOption(invocation, 'dotenv');
      written(file, () => fs.appendFileSync(file, '', { mode: 0o600 }));
    },
    print: toGitlab,
  },
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
    needs: '--name NAME',
    print: ({ flags, report }, token, { expiresAtUnix, life }) => {
      const annotations = {
        'graphcred/minted-at': isoSeconds(expiresAtUnix - life.lifetime),
        'graphcred/expires-at': isoSeconds(expiresAtUnix),
      };
      const metadata = { name: flags.name, annotations };
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: { token } };
      // JSON is valid YAML, and no value can change its structure.
      report.result(escapeControls(JSON.stringify(secret, undefined, 2)));
    },
  },
};

/** Returns a line that sets a variable when the shell evaluates it, whatever the value contains. */
export function assignment(name: string, value: string, shell = 'sh'): string {
  if (shell === 'sh') return `export ${name}='${value.replace(/'/g, "'\\''")}'`;
  if (shell === 'fish') return `set -gx ${name} '${value.replace(/[\\']/g, '\\$&')}'`;
  // Single quotes of every kind PowerShell takes for one are doubled, as its documentation says.
  if (!['cmd', 'dotenv'].includes(shell))
    return `$env:${name} = '${value.replace(/['\u2018\u2019\u201a\u201b]/g, '$&$&')}'`;
  const hint = 'use another format, for example -o env --shell powershell';
  if (!/^[\w.~+/=-]+$/.test(value)) throw usageError('This token cannot be written safely.', hint);
  // Docker takes quotes for a part of the value, and some read such a file with a shell.
  return shell === 'cmd' ? `set "${name}=${value}"` : `${name}=${value}`;
}

/** Returns the file that an option names. @throws GraphException USAGE for a device, a pipe, a folder or a link */
export function fileOption({ ctx, flags }: Invocation, name: string): string {
  const file = path.resolve(ctx.cwd, flags[name] as string);
  if (isReplaceable(file)) return file;
  throw usageError(`--${name} must be a regular file: ${file}`, 'give a file, no link, folder or pipe');
}

/** Prints the command that masks the token, and only then writes the token where later steps find it. */
export function toGithub({ ctx, flags, report }: Invocation, token: string, { expiresAtUnix }: Token): void {
  report.raw(runnerCommand('add-mask', token));
  appendPairs(ctx.env.GITHUB_OUTPUT, { token, 'expires-at': isoSeconds(expiresAtUnix) });
  if (flags.export === true) appendPairs(ctx.env.GITHUB_ENV, { TG_API_TOKEN: token });
}

/** Writes a dotenv report. GitLab reads it after the job and cannot mask the token while the job runs. */
function toGitlab(invocation: Invocation, token: string): void {
  const file = fileOption(invocation, 'dotenv');
  const line = assignment('TG_API_TOKEN', token, 'dotenv');
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = fs.constants;
  written(file, () => {
    // A link that somebody has put there since is not followed.
    const fd = fs.openSync(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      fs.fchmodSync(fd, 0o600);
      const lines = fs.readFileSync(fd, 'utf8').split('\n');
      const others = lines.filter((line) => line !== '' && !line.startsWith('TG_API_TOKEN='));
      fs.ftruncateSync(fd);
      // Written in place: if the process is killed, a temporary file with the token would stay in the project.
      fs.writeFileSync(fd, [...others, line, ''].join('\n'));
    } finally {
      fs.closeSync(fd);
    }
  });
  invocation.report.note(
    `wrote ${file}; GitLab does not mask values of a dotenv report in the log, so do not print them`,
  );
}

/** Prints a token. The format is checked before one is minted, since some formats need more than the token. */
export async function printToken(invocation: Invocation, run: Run, obtain: () => Promise<Token>) {
  const { flags, report } = invocation;
  const output = report.format;
  for (const [format, { flag = '' }] of Object.entries(PRINTERS)) {
    if (flags[flag] === undefined || output === format) continue;
    const hint = `add -o ${format}, or leave --${flag} out`;
    throw usageError(`--${flag} is for -o ${format}, not for -o ${output}.`, hint);
  }
  const { flag = '', needs, check, print } = PRINTERS[output] as Format;
  if (needs && flags[flag] === undefined)
    throw new GraphException('INPUT_REQUIRED', `-o ${output} needs ${needs}.`, {
      hint: 'see: graphcred token get --help',
    });
  check?.(invocation);
  const held = await obtain();
  // Said when the result cannot be written: where nothing is stored, the token would live on unseen.
  if (!held.isCached) report.did('got a token');
  print(invocation, held.token.reveal(), held, run);
}

export async function get(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  const { env, startedAt, reporter } = run.ports;
  const freshSince = invocation.flags.fresh === true ? startedAt : undefined;
  if (env.TG_API_TOKEN) reporter.detail('TG_API_TOKEN is set, but token get ignores it');
  await printToken(invocation, run, () => getToken(run, { freshSince }));
}
