import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { parseFault } from '../../src/sandbox/fault-spec.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { cli, temporaryHome } from './cli.js';
import { type Exchange, startRecorder } from './wire.js';

/*
 * A transcript is a text file that holds a session line by line: what is typed, all that is printed, and every request.
 * The lines that begin as follows are played; the others are what came of them.
 *
 *   # a comment
 *   $ NAME=value graphcred COMMAND    runs the command; 'single quotes' keep blanks
 *   @ answer                          what a person at the terminal answers; one for each question, "@" alone is Enter
 *   < text                            a line of stdin
 *   % sandbox {"restAuth":"off"}      begins again with another server, in the same home; the options of startSandbox
 *   % fault ACTION                    a fault of the sandbox, in the form of `--fault`
 *   % set NAME=value, % unset NAME    changes the environment of the commands that follow
 *   % later 3h                        moves the clock (s, m, h, d)
 *   % file PATH [MODE] TEXT           writes a file below the home; \n in TEXT begins a new line
 *   % show PATH                       shows a file; without a path, the names and modes of all files
 *   % headers on, % answers on        shows the headers of each request, the answer of the server
 *   % columns 44                      the width of the terminals from now on; stdout is a terminal
 *   % request SERVER METHOD PATH [LOGIN] BODY     a request of no client: SERVER is REST or GSQL, the rest as below;
 *                                     "[LOGIN]" and BODY may be left out, \n in BODY begins a new line
 *   % header Name: value              one more header of the requests that follow; without a name, no more headers
 *   % switches {"zone":…}, % texts {"badSecret3":"old"}   moves switches and texts of the sandbox while it runs
 *   % claims TOKEN                    shows what a JSON Web Token says
 *   % cd PATH                         the current folder, below the home
 *
 *   | a line of stdout     ! a line of stderr     ? a question     = the exit status, when it is not 0
 *   > SERVER METHOD PATH [LOGIN] BODY             a request
 *   < STATUS BODY                                 its answer; after "% request" with "[CONTENT-TYPE; Other: header]"
 *
 * Credentials are written `credential-1`, in the order in which the servers gave them, addresses `http://127.0.0.1:REST0`
 * and `GSQL0`, the home `/home/user`, and moments `now`, `now+15m`; so they are in what is played, too.
 */

/** What a person is asked, and the answers that are left. Takes the place of the package `inquirer`. */
const person = { answers: [] as string[], seen: [] as string[] };

interface Question {
  readonly type: string;
  readonly message: string;
  readonly default?: unknown;
  readonly choices?: readonly { readonly name: string; readonly value: unknown }[];
  validate?(text: string): true | string;
}

export const inquirer = {
  createPromptModule:
    () =>
    async ([question]: [Question]) => ({ answer: answer(question) }),
};

function answer({ type, message, choices, validate, ...question }: Question): unknown {
  const proposed = question.default === undefined ? '' : ` (${String(question.default)})`;
  person.seen.push(`? ${type}: ${message}${proposed}`);
  for (const choice of choices ?? []) person.seen.push(`?   ${choice.name}`);
  for (;;) {
    const typed = person.answers.shift();
    if (typed === undefined) {
      person.seen.push('? (closed)');
      throw Object.assign(new Error('closed'), { name: 'ExitPromptError' });
    }
    if (type === 'confirm') return typed === '' ? question.default : typed === 'y';
    if (choices) {
      const chosen = choices.find(({ name }) => typed === '' || name.startsWith(typed));
      if (!chosen) throw new Error(`"${typed}" is not among the choices of "${message}".`);
      return chosen.value;
    }
    const text = typed === '' ? String(question.default ?? '') : typed;
    const verdict = validate?.(text) ?? true;
    if (verdict === true) return text;
    person.seen.push(`?   refused "${text}": ${verdict}`);
  }
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PLAYED = /^([#$@<%]|$)/;
const REQUEST = /^(REST|GSQL) (\S+) (\S+)(?: \[(.*?)\](?= |$))?(?: (.*))?$/;
/** Headers that come with every answer. */
const USUAL = /^(content-type|content-length|transfer-encoding|connection|keep-alive|date)$/i;
const FILE = /^(\S+)(?: ([0-7]{3}))? (.*)$/;

const windows = process.platform === 'win32';

/**
 * Makes a test of each transcript in a folder. The file of tests must put `inquirer` of this file in place of the package.
 * Skipped on Windows, with the reason: paths and modes are written as on Linux and macOS.
 */
export function testTranscripts(folder: string): void {
  if (windows)
    console.log('the transcripts are skipped: paths and modes in them are those of Linux and macOS');
  // Each question listens for the end of the process.
  afterEach(() => void process.removeAllListeners('beforeExit'));
  const files = fs.readdirSync(folder).filter((file) => file.endsWith('.txt'));
  test.skipIf(windows).each(files)(
    'the session %s prints and sends what its transcript holds',
    async (name) => {
      const file = path.resolve(folder, name);
      await expect(await play(fs.readFileSync(file, 'utf8'))).toMatchFileSnapshot(file);
    },
  );
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
  const home = temporaryHome();
  const exchanges: Exchange[] = [];
  const env: Record<string, string> = {};
  const show = { headers: false, answers: false };
  let columns: number | undefined;
  let cwd = home;
  let sandbox: Sandbox | undefined;
  const ports = new Map<string, string>();
  const credentials: string[] = [];
  const statements: string[] = [];
  const printed: string[] = [];
  const warnings: string[] = [];
  const headers: Record<string, string> = {};

  async function begin(options: SandboxOptions) {
    await sandbox?.close();
    const running = await startSandbox({
      gsqlPort: 0,
      restPort: 0,
      warn: (line) => warnings.push(line),
      ...options,
    });
    sandbox = running;
    onTestFinished(() => running.close());
    const [rest, gsql] = await Promise.all([
      startRecorder('REST', running.restUrl, exchanges),
      startRecorder('GSQL', running.gsqlUrl, exchanges),
    ]);
    ports.set(new URL(rest).port, 'REST0').set(new URL(gsql).port, 'GSQL0');
    Object.assign(env, {
      GRAPHCRED_REST_URL: rest,
      GRAPHCRED_GSQL_URL: gsql,
      GRAPHCRED_GRAPH: running.graph,
      GRAPHCRED_USERNAME: running.username,
      GRAPHCRED_PASSWORD: running.password,
      GRAPHCRED_STORE: 'file',
    });
  }

  /** Notes the credentials in an answer. They are 32 letters and digits, or JSON Web Tokens. */
  function note(text: string) {
    for (const [found] of text.matchAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+|\b(?=[a-z]*\d)[a-z0-9]{32}\b/g))
      if (!credentials.includes(found)) credentials.push(found);
    for (const [found] of text.matchAll(/\b0{8}\.[a-z0-9]{9}\b/g))
      if (!statements.includes(found)) statements.push(found);
  }

  const digests = () => credentials.map((one) => createHash('sha256').update(one).digest('hex'));

  /** Writes what differs between two runs in the same way each time, and in the same length where columns depend on it. */
  function constant(text: string): string {
    let shown = text
      .replaceAll(home, '/home/user')
      .replace(`owner            user ${process.getuid?.()},`, 'owner            user UID,');
    for (const [index, one] of credentials.entries()) {
      const name = `credential-${index + 1}`;
      shown = shown
        .replaceAll(one, one.length > 40 ? name : name.padEnd(one.length, '.'))
        .replaceAll(`${one.slice(0, 3)}****${one.slice(-3)}`, `<${index + 1}>****<${index + 1}>`)
        .replaceAll(`${one.slice(0, 4)}****${one.slice(-4)}`, `<${index + 1}>****<${index + 1}>`)
        .replaceAll(Buffer.from(one).toString('base64'), `base64(${name})`);
    }
    for (const [index, digest] of digests().entries())
      shown = shown.replace(new RegExp(`\\b(?:${digest.slice(0, 8)})[0-9a-f]*`, 'g'), (found) =>
        `sha256-${index + 1}`.padEnd(found.length, '.'),
      );
    for (const [index, one] of statements.entries()) shown = shown.replaceAll(one, `statement-${index + 1}`);
    for (const [port, name] of ports) shown = shown.replace(new RegExp(`\\b${port}\\b`, 'g'), name);
    return shown
      .replace(/AUTO_GENERATED_ALIAS_\w{7}/g, 'AUTO_GENERATED_ALIAS_xxxxxxx')
      .replace(/-[0-9a-f]{28}\.json/g, '-(digest).json')
      .replace(/\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, (found) => {
        const at = Date.parse(found.endsWith('Z') ? found : `${found.replace(' ', 'T')}Z`);
        // Years ago: the date of a release, which stays as it is.
        if (at < start - 400 * UNITS.d) return found;
        return found.endsWith('Z') ? moment(at) : moment(at).padEnd(found.length);
      })
      .replace(/\b1[789]\d{8}(?:\d{3})?\b/g, (found) => moment(Number(found.padEnd(13, '0'))))
      .replace(/\b\w{3} (\w{3} \d\d) (\d\d:\d\d:\d\d) (\w+) (20\d\d)\b/g, (_, day, time, zone, year) => {
        return `${moment(Date.parse(`${day} ${year} ${time} UTC`))} in ${zone}`;
      })
      .replace(/\b\d+(\.\d)? ms\b/g, 'N ms')
      .replace(/"milliseconds":\d+/g, '"milliseconds":N')
      .replace(/"sessionId":"0{8}\w{3}"/g, '"sessionId":"00000000xxx"')
      .replace(/\bgraphcred_[0-9a-f]{32}\b/g, 'graphcred_(random)')
      .replace(/^date: .*/gm, 'date: (now)')
      .replaceAll('\u001b', '␛');
  }

  function moment(at: number): string {
    const passed = at - start;
    if (passed === 0) return 'now';
    const [unit = 's', size = 1000] =
      Object.entries(UNITS).findLast(([, length]) => passed % length === 0) ?? [];
    return `now${passed < 0 ? '-' : '+'}${Math.abs(passed / size)}${unit}`;
  }

  /** The opposite of `constant`, for what is played. */
  function real(text: string): string {
    let played = text.replaceAll('/home/user', home);
    for (const [port, name] of [...ports].reverse()) played = played.replaceAll(name, port);
    return played.replace(/(credential|statement)-(\d+)/g, (name, kind, number) => {
      const one = (kind === 'statement' ? statements : credentials)[Number(number) - 1];
      if (one === undefined) throw new Error(`No server has given ${name} yet.`);
      return one;
    });
  }

  const put = (mark: string, text: string) => {
    if (text === '') return;
    for (const line of constant(text.replace(/\n$/, '')).split('\n'))
      printed.push(`${mark} ${line}`.trimEnd());
  };

  function putExchanges() {
    for (const { server, method, url, headers, body, answer: given } of exchanges.splice(0)) {
      note(`${body}\n${given.body}`);
      const [scheme = '', value = ''] = headers.authorization?.split(' ') ?? [];
      const login =
        scheme === 'Basic' ? `Basic ${Buffer.from(value, 'base64').toString()}` : headers.authorization;
      put('>', `${server} ${method} ${url} [${login ?? 'no login'}] ${body.replaceAll('\n', '\\n')}`);
      if (show.headers)
        for (const [name, text] of Object.entries(headers))
          if (name !== 'authorization') put('>  ', `${name}: ${text}`);
      if (show.answers) put('<', `${given.status} ${given.body.replaceAll('\n', '\\n')}`);
    }
  }

  /** Sends a request as it is written, and shows all of the answer that arrives. */
  async function request(line: string) {
    const [, server, method = '', target = '', login = 'no login', body = ''] =
      REQUEST.exec(real(line)) ?? [];
    if (!sandbox || !server)
      throw new Error(`"% request ${line}" is written SERVER METHOD PATH [LOGIN] BODY.`);
    const [scheme = '', value = ''] = login.split(' ');
    const basic = scheme === 'Basic' && value.includes(':');
    const authorization = basic ? `Basic ${Buffer.from(value).toString('base64')}` : login;
    warnings.length = 0;
    const sent = Buffer.from(body.replaceAll('\\n', '\n'));
    const onward = http.request(`${server === 'REST' ? sandbox.restUrl : sandbox.gsqlUrl}${target}`, {
      method,
      headers: {
        ...headers,
        ...(login !== 'no login' && { authorization }),
        'content-length': sent.length,
      },
      agent: false,
    });
    onward.end(sent);
    let status = '000';
    const kept: string[] = [];
    let text = '';
    try {
      const [incoming] = (await once(onward, 'response')) as [http.IncomingMessage];
      status = String(incoming.statusCode);
      kept.push(incoming.headers['content-type'] ?? 'no type');
      for (let at = 0; at < incoming.rawHeaders.length; at += 2)
        if (!USUAL.test(incoming.rawHeaders[at] ?? ''))
          kept.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
      for await (const chunk of incoming) text += chunk;
    } catch (error) {
      kept.push(`broken: ${(error as NodeJS.ErrnoException).code}`);
    }
    note(text);
    for (const warning of warnings.splice(0)) put('!', warning);
    put('<', `${status} [${kept.join('; ')}] ${text.replaceAll('\n', '\\n')}`);
  }

  /** Moves switches or texts through the control path. */
  async function control(what: string, body: string) {
    const answered = await fetch(`${sandbox?.gsqlUrl}/__sandbox/${what}`, { method: 'POST', body });
    if (!answered.ok) put('<', `${answered.status} ${await answered.text()}`);
  }

  async function runLine(line: string, answers: readonly string[], stdin: string | undefined) {
    const words = [...real(line).matchAll(/'([^']*)'|((?:[^\s']|(?<=\S)'[^']*')+)/g)].map(
      ([, quoted, word]) => quoted ?? word?.replace(/'([^']*)'/g, '$1') ?? '',
    );
    const program = words.indexOf('graphcred');
    const own = Object.fromEntries(
      words.slice(0, program).map((word) => {
        const equals = word.indexOf('=');
        return [word.slice(0, equals), word.slice(equals + 1)];
      }),
    );
    person.answers = answers.map(real);
    person.seen = [];
    const result = await cli(home, words.slice(program + 1), {
      env: { ...env, ...own },
      cwd,
      person: answers.length > 0,
      terminal: columns !== undefined,
      stderrTerminal: columns !== undefined,
      ...(columns !== undefined && { columns }),
      ...(stdin !== undefined && { stdin }),
    });
    putExchanges();
    for (const seen of person.seen) put('?', seen.slice(2));
    for (const left of person.answers) put('?', `  never asked for: ${left}`);
    // The line that says what is waited for is drawn only when the machine is slow.
    put('!', result.stderr.replaceAll('\u001b', '␛').replace(/\r(?:[-\\|/] [^\r\n]*?)?␛\[K/g, ''));
    put('|', result.stdout);
    if (result.status !== 0) printed.push(`= ${result.status}`);
  }

  async function order(name: string, rest: string) {
    switch (name) {
      case 'sandbox':
        return begin(JSON.parse(rest === '' ? '{}' : real(rest)));
      case 'fault':
        return sandbox?.addFault(parseFault(rest));
      case 'set': {
        const equals = rest.indexOf('=');
        env[rest.slice(0, equals)] = real(rest.slice(equals + 1));
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
        fs.writeFileSync(full, `${real(text).replaceAll('\\n', '\n')}\n`);
        fs.chmodSync(full, Number.parseInt(mode, 8));
        return;
      }
      case 'show':
        return rest === '' ? listFiles() : put('|', fs.readFileSync(path.join(home, rest), 'utf8'));
      case 'headers':
      case 'answers':
        show[name] = rest === 'on';
        return;
      case 'cd':
        cwd = path.join(home, rest);
        return;
      case 'request':
        return request(rest);
      case 'header': {
        const [, header = '', value = ''] = /^(\S+?): ?(.*)$/.exec(real(rest)) ?? [];
        if (header === '') for (const one of Object.keys(headers)) delete headers[one];
        else headers[header] = value;
        return;
      }
      case 'switches':
      case 'texts':
        return control(name, rest);
      case 'claims':
        return put('|', Buffer.from(real(rest).split('.')[1] ?? '', 'base64url').toString());
      case 'columns':
        columns = rest === '' ? undefined : Number(rest);
        return;
      default:
        throw new Error(`"% ${name}" is not known; see test/helpers/transcript.ts.`);
    }
  }

  function listFiles() {
    const files = fs.readdirSync(home, { recursive: true, withFileTypes: true });
    for (const entry of files.toSorted((a, b) => (full(a) < full(b) ? -1 : 1)))
      put('|', `${(fs.statSync(full(entry)).mode & 0o777).toString(8)} ${path.relative(home, full(entry))}`);
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
      await runLine(line.slice(2), texts('@'), stdin.length > 0 ? `${real(stdin.join('\n'))}\n` : undefined);
    } else if (!/^(#|$)/.test(line)) throw new Error(`"${line}" follows no command.`);
  }
  return `${printed.join('\n')}\n`;
}
