import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseFault } from '../../../src/sandbox/faults.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/server.js';
import { cli, type Result, type RunOptions, temporaryHome } from '../../helpers/cli.js';
import { person } from '../../helpers/person.js';
import { createNames, UNITS } from './names.js';
import { faultOf, fileFor, fillIn, OTHER_SECRET, printedCommands, wordsOf } from './printed-commands.js';
import { type Exchange, sendRaw, startRecorder } from './wire.js';

/*
 * A transcript is a text file that holds a session line by line: what is typed, all that is printed, and every request.
 * The lines that begin as follows are played; the others are what came of them.
 *
 *   # a comment; `# holds: C2.7` above a step names a promise of docs/contract.md
 *   $ NAME=value graphcred COMMAND    runs the command; 'single quotes' keep blanks
 *   @ answer                          what a person at the terminal answers; one for each question, "@" alone is Enter
 *   < text                            a line of stdin
 *   % sandbox {"restAuth":"off"}      begins again with another server, in the same home; the options of startSandbox
 *   % fault ACTION                    a fault of the sandbox, in the form of `--fault`
 *   % set NAME=value, % unset NAME    changes the environment of the commands that follow
 *   % later 3h                        moves the clock (s, m, h, d)
 *   % file PATH [MODE] TEXT           writes a file below the home; \n in TEXT begins a new line
 *   % show PATH                       shows a file; without a path, the names and modes of all files
 *   % headers on                      shows the headers of each request
 *   % columns 44                      the width of the terminals from now on; stdout is a terminal
 *   % request SERVER METHOD PATH [LOGIN] BODY     a request of no client: SERVER is REST or GSQL, the rest as below;
 *                                     "[LOGIN]" and BODY may be left out, \n in BODY begins a new line
 *   % header Name: value              one more header of the requests that follow; without a name, no more headers
 *   % switches {"zone":…}              moves switches of the sandbox while it runs
 *   % claims TOKEN                    shows what a JSON Web Token says
 *   % cd PATH                         the current folder, below the home
 *
 *   | a line of stdout     ! a line of stderr     ? a question     = the exit status, when it is not 0
 *   > SERVER METHOD PATH [LOGIN] BODY             a request
 *   | … 2-9               lines 2 to 9 of what the same command printed (or sent, after >) the last time; for three lines and more
 *   < STATUS BODY                                 its answer; after "% request" with "[CONTENT-TYPE; Other: header]",
 *                                     and below all the requests in a row that were answered so
 *
 * Each command that a step prints for its reader is typed after it, against a copy of the servers; see printed-commands.ts.
 *
 * Credentials are written `credential-1`, in the order in which the servers gave them, addresses `http://127.0.0.1:REST0`
 * and `GSQL0`, the home `/home/user`, and moments `now`, `now+15m`; so they are in what is played, too.
 */

const PLAYED = /^([#$@<%]|$)/;
const REQUEST = /^(REST|GSQL) (\S+) (\S+)(?: \[(.*?)\](?= |$))?(?: (.*))?$/;
const FILE = /^(\S+)(?: ([0-7]{3}))? (.*)$/;

const windows = process.platform === 'win32';

/**
 * Makes a test of each transcript in a folder. The file of tests must put `inquirer` of helpers/person.ts in place of
 * the package.
 * Skipped on Windows, with the reason: paths and modes are written as on Linux and macOS.
 */
export function testTranscripts(folder: string): void {
  if (windows)
    console.log('the transcripts are skipped: paths and modes in them are those of Linux and macOS');
  const files = fs.readdirSync(folder).filter((file) => file.endsWith('.txt'));
  test.skipIf(windows).each(files)(
    'the session %s prints and sends what its transcript holds',
    async (name) => {
      const file = path.resolve(folder, name);
      await expect(await play(fs.readFileSync(file, 'utf8'))).toMatchFileSnapshot(file);
    },
  );
}

/** Copies a folder, and returns a function that puts the copy in its place. */
function noteFolder(folder: string): () => void {
  const copy = path.join(temporaryHome(), 'copy');
  fs.cpSync(folder, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  // A folder is copied without its mode.
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const original = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory())
      fs.chmodSync(path.join(copy, path.relative(folder, original)), fs.statSync(original).mode);
  }
  return () => {
    fs.rmSync(folder, { recursive: true });
    fs.renameSync(copy, folder);
  };
}

/** Lets nobody answer on the usual ports until the end of the test, whatever servers this machine has. */
function closeUsualPorts(): void {
  const { connect } = net.Socket.prototype;
  vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (this: net.Socket, ...args) {
    // `net.connect` passes an array on: the options and the callback.
    const [options] = args.flat() as unknown as [{ port?: number | string }];
    if (/^(9000|14240)$/.test(String(options.port))) options.port = 1;
    return Reflect.apply(connect, this, args);
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

/** Returns the lines with their numbers in `before` in place of each run of three or more that is there, in the same order. */
function withoutRepeated(lines: readonly string[], before: readonly string[], mark: string): string[] {
  const shown: string[] = [];
  for (let at = 0, from = 0; at < lines.length; ) {
    const lengths = before.map((_, start) => {
      let length = 0;
      while (start >= from && at + length < lines.length && lines[at + length] === before[start + length])
        length++;
      return length;
    });
    const length = Math.max(0, ...lengths);
    const start = lengths.indexOf(length);
    if (length >= 3) from = start + length;
    shown.push(length < 3 ? (lines[at] ?? '') : `${mark} … ${start + 1}-${from}`);
    at += length < 3 ? 1 : length;
  }
  return shown;
}

/** Plays what a transcript types, and returns the transcript that came of it. */
async function play(transcript: string): Promise<string> {
  const start = Math.floor(Date.now() / 60_000) * 60_000;
  vi.useFakeTimers({ toFake: ['Date'], now: start });
  const zone = process.env.TZ;
  process.env.TZ = 'UTC';
  onTestFinished(() => {
    vi.useRealTimers();
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  closeUsualPorts();
  const home = temporaryHome();
  const exchanges: Exchange[] = [];
  const env: Record<string, string> = {};
  let showsHeaders = false;
  let columns: number | undefined;
  let cwd = home;
  let sandbox: Sandbox | undefined;
  const names = createNames(home, start);
  const printed: string[] = [];
  const warnings: string[] = [];
  const headers: Record<string, string> = {};
  const outputs = new Map<string, string[]>();
  const faults: string[] = [];
  let startCopy: () => Promise<Sandbox>;

  async function begin(given: SandboxOptions) {
    await sandbox?.close();
    const stateFile = path.join(temporaryHome(), 'state');
    const warn = (line: string) => void warnings.push(line);
    const options = { gsqlPort: 0, restPort: 0, stateFile, warn, ...given };
    const running = await startSandbox(options);
    sandbox = running;
    startCopy = async () => {
      fs.copyFileSync(options.stateFile, `${stateFile}-copy`);
      return startSandbox({
        ...options,
        stateFile: `${stateFile}-copy`,
        secrets: [{ ...OTHER_SECRET, user: running.username, graph: running.graph }],
        faults: [],
        switches: running.switches,
      });
    };
    onTestFinished(() => running.close());
    const [rest, gsql] = await Promise.all([
      startRecorder('REST', () => sandbox?.restUrl ?? '', exchanges),
      startRecorder('GSQL', () => sandbox?.gsqlUrl ?? '', exchanges),
    ]);
    names.notePort(new URL(rest).port, 'REST0');
    names.notePort(new URL(gsql).port, 'GSQL0');
    Object.assign(env, {
      GRAPHCRED_REST_URL: rest,
      GRAPHCRED_GSQL_URL: gsql,
      GRAPHCRED_GRAPH: running.graph,
      GRAPHCRED_USERNAME: running.username,
      GRAPHCRED_PASSWORD: running.password,
      GRAPHCRED_STORE: 'file',
    });
  }

  const put = (mark: string, text: string) => {
    if (text === '') return;
    for (const line of names.constant(text.replace(/\n$/, '')).split('\n'))
      printed.push(`${mark} ${line}`.trimEnd());
  };

  /** Takes out of the lines since `from` what the same command has led to the last time as well. */
  function fold(mark: string, from: number, command: string) {
    const lines = printed.splice(from);
    const key = `${mark} ${command}`;
    printed.push(...withoutRepeated(lines, outputs.get(key) ?? [], mark));
    if (lines.length > 0) outputs.set(key, lines);
  }

  function putOutput(mark: string, text: string, command: string) {
    const from = printed.length;
    put(mark, text);
    fold(mark, from, command);
  }

  function putExchanges(command: string) {
    const from = printed.length;
    for (const { server, method, url, headers, body, answer: given } of exchanges.splice(0)) {
      names.note(`${body}\n${given}`);
      const [scheme = '', value = ''] = headers.authorization?.split(' ') ?? [];
      const login =
        scheme === 'Basic' ? `Basic ${Buffer.from(value, 'base64').toString()}` : headers.authorization;
      put('>', `${server} ${method} ${url} [${login ?? 'no login'}] ${body.replaceAll('\n', '\\n')}`);
      const shown = Object.entries(headers).filter(([name]) => name !== 'authorization');
      if (showsHeaders) put('>  ', shown.map(([name, text]) => `${name}: ${text}`).join('; '));
    }
    if (!showsHeaders) fold('>', from, command);
  }

  /** Sends a request as it is written, and shows all of the answer that arrives. */
  async function request(line: string) {
    const [, server, method = '', target = '', login = 'no login', body = ''] =
      REQUEST.exec(names.real(line)) ?? [];
    if (!sandbox || !server)
      throw new Error(`"% request ${line}" is written SERVER METHOD PATH [LOGIN] BODY.`);
    warnings.length = 0;
    const url = `${server === 'REST' ? sandbox.restUrl : sandbox.gsqlUrl}${target}`;
    const { status, about, text } = await sendRaw(method, url, login, headers, body.replaceAll('\\n', '\n'));
    names.note(text);
    for (const warning of warnings.splice(0)) put('!', warning);
    put('<', `${status} [${about.join('; ')}] ${text.replaceAll('\n', '\\n')}`);
    const [before, asked, answer] = printed.slice(-3);
    if (before === answer && asked?.startsWith('% request')) printed.splice(-3, 1);
  }

  /** Types the commands that a step prints, each against a copy of the servers, and sets the home back afterwards. */
  async function typePrinted(typed: string, step: Result, given: RunOptions) {
    const original = sandbox;
    const options = { ...given, env: { ...given.env, SHELL: '/bin/true' } };
    for (const command of printedCommands(typed, `${step.stdout}${step.stderr}`)) {
      const restore = noteFolder(home);
      const copy = await startCopy();
      fs.writeFileSync(path.join(cwd, 'FILE'), fileFor(command, copy), { mode: 0o600 });
      sandbox = copy;
      const words = await fillIn(command, copy, (words) => cli(home, words, options));
      const stdin = words.includes('--secret-stdin') ? OTHER_SECRET.value : undefined;
      person.answers = [];
      person.seen = [];
      const result = await cli(home, words, {
        ...options,
        ...(stdin === undefined ? { person: true } : { stdin }),
      });
      process.removeAllListeners('beforeExit');
      exchanges.length = 0;
      const fault = person.seen.length === 0 && faultOf(command, step, result);
      if (fault) faults.push(`"graphcred ${words.join(' ')}" after "${typed}" ends with ${fault}`);
      sandbox = original;
      await copy.close();
      restore();
    }
  }

  async function runLine(line: string, answers: readonly string[], stdin: string | undefined) {
    const words = wordsOf(names.real(line));
    const program = words.indexOf('graphcred');
    const own = Object.fromEntries(
      words.slice(0, program).map((word) => {
        const equals = word.indexOf('=');
        return [word.slice(0, equals), word.slice(equals + 1)];
      }),
    );
    person.answers = answers.map(names.real);
    person.seen = [];
    const options = { env: { ...env, ...own }, cwd };
    const result = await cli(home, words.slice(program + 1), {
      ...options,
      person: answers.length > 0,
      terminal: columns !== undefined,
      stderrTerminal: columns !== undefined,
      ...(columns !== undefined && { columns }),
      ...(stdin !== undefined && { stdin }),
    });
    // Each question has listened for the end of the process.
    process.removeAllListeners('beforeExit');
    const [command = ''] = words.slice(program + 1).filter((word) => !word.startsWith('-'));
    putExchanges(command);
    for (const seen of person.seen) put('?', seen.slice(2));
    for (const left of person.answers) put('?', `  never asked for: ${left}`);
    // The line that says what is waited for is drawn only when the machine is slow.
    const stderr = result.stderr.replaceAll('\u001b', '␛').replace(/\r(?:[-\\|/] [^\r\n]*?)?␛\[K/g, '');
    putOutput('!', stderr, command);
    putOutput('|', result.stdout, command);
    if (result.status !== 0) printed.push(`= ${result.status}`);
    await typePrinted(line, result, options);
  }

  async function order(name: string, rest: string) {
    switch (name) {
      case 'sandbox':
        return begin(JSON.parse(rest === '' ? '{}' : names.real(rest)));
      case 'fault':
        return sandbox?.addFault(parseFault(rest));
      case 'set': {
        const equals = rest.indexOf('=');
        env[rest.slice(0, equals)] = names.real(rest.slice(equals + 1));
        return;
      }
      case 'unset':
        for (const one of rest.split(' ')) delete env[one];
        return;
      case 'later': {
        const [, count, unit] = /^(\d+)([smhd])$/.exec(rest) ?? [];
        vi.setSystemTime(Date.now() + Number(count) * UNITS[unit as 's']);
        return;
      }
      case 'file': {
        const [, file = '', mode = '600', text = ''] = FILE.exec(rest) ?? [];
        const full = path.join(home, file);
        fs.mkdirSync(path.dirname(full), { recursive: true, mode: 0o700 });
        fs.writeFileSync(full, `${names.real(text).replaceAll('\\n', '\n')}\n`);
        fs.chmodSync(full, Number.parseInt(mode, 8));
        return;
      }
      case 'show':
        return putOutput(
          '|',
          rest === '' ? listFiles() : fs.readFileSync(path.join(home, rest), 'utf8'),
          `% ${rest}`,
        );
      case 'headers':
        showsHeaders = rest === 'on';
        return;
      case 'cd':
        cwd = path.join(home, rest);
        return;
      case 'request':
        return request(rest);
      case 'header': {
        const [, header = '', value = ''] = /^(\S+?): ?(.*)$/.exec(names.real(rest)) ?? [];
        if (header === '') for (const one of Object.keys(headers)) delete headers[one];
        else headers[header] = value;
        return;
      }
      case 'switches':
        Object.assign(sandbox?.switches ?? {}, JSON.parse(rest));
        return;
      case 'claims':
        return put('|', Buffer.from(names.real(rest).split('.')[1] ?? '', 'base64url').toString());
      case 'columns':
        columns = rest === '' ? undefined : Number(rest);
        return;
      default:
        throw new Error(`"% ${name}" is not known; see test/transcripts/player/transcript.ts.`);
    }
  }

  function listFiles(): string {
    const files = fs.readdirSync(home, { recursive: true, withFileTypes: true });
    return files
      .toSorted((a, b) => (full(a) < full(b) ? -1 : 1))
      .map(
        (entry) =>
          `${(fs.statSync(full(entry)).mode & 0o777).toString(8)} ${path.relative(home, full(entry))}\n`,
      )
      .join('');
  }
  const full = (entry: fs.Dirent) => path.join(entry.parentPath, entry.name);

  const lines = transcript
    .replace(/\n$/, '')
    .split('\n')
    .filter((line) => PLAYED.test(line) && !/^< \d{3} /.test(line));
  if (!lines.find((line) => !/^(#|$)/.test(line))?.startsWith('% sandbox')) await begin({});
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    printed.push(line);
    if (line.startsWith('% ')) {
      const [, name = '', rest = ''] = /^% (\S+) ?(.*)$/.exec(line) ?? [];
      await order(name, rest);
    } else if (line.startsWith('$ ')) {
      const given: string[] = [];
      while (/^[@<]/.test(lines[at + 1] ?? '')) given.push(lines[++at] ?? '');
      printed.push(...given);
      const texts = (mark: string) => given.filter((one) => one.startsWith(mark)).map((one) => one.slice(2));
      const stdin = texts('<');
      await runLine(
        line.slice(2),
        texts('@'),
        stdin.length > 0 ? `${names.real(stdin.join('\n'))}\n` : undefined,
      );
    } else if (!/^(#|$)/.test(line)) throw new Error(`"${line}" follows no command.`);
  }
  expect(faults, 'printed commands do not work when they are typed').toEqual([]);
  return `${printed.join('\n')}\n`;
}
