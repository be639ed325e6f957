import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { blocksOf, unused } from '../helpers/docs.js';
import { lacking } from '../helpers/lacking.js';
import { freePort } from '../helpers/ports.js';
import { putCommand, spawned, standaloneSkipReason } from '../helpers/process.js';
import { SECRET, social } from '../helpers/sandbox.js';
import { onTerminal, python } from '../helpers/terminal.js';

const skipped =
  lacking('the pages that are typed', 'curl', 'jq').length > 0 ||
  !python ||
  standaloneSkipReason !== undefined;

const CLOUD = 'tg-1.i.tgcloud.io';
const CREDENTIAL = /eyJ[\w-]{8,}\.|\b(?=[a-z]*\d)[a-z0-9]{32}\b/;
const QUESTION = /^\? ((?:(?!^[?✔]).)+)$/msu;

interface Page {
  readonly page: string;
  /** Headings that are left out. */
  readonly without?: readonly string[];
  readonly serverVersion: string;
  readonly shell: readonly string[];
  readonly columns?: number;
  /** The answers that the page does not show, by the beginning of the question. */
  readonly answers?: Readonly<Record<string, string>>;
  /** What is typed before the blocks of a heading. */
  readonly before?: Readonly<Record<string, string>>;
  check(typed: Typed): void;
}

interface Typed {
  readonly screen: string;
  readonly bytes: string;
  readonly home: string;
  /** The tokens of the runs of `load.sh`, each with the HTTP status with which the server now answers to it. */
  readonly tokens: readonly { readonly token: string; readonly status: string }[];
}

const checkShellPage = ({ bytes, home, tokens }: Typed) => {
  // The shell traces what it runs.
  expect(bytes).toContain('+ graphcred exec');
  expect(bytes).not.toMatch(CREDENTIAL);
  const found = (file: string) => JSON.parse(fs.readFileSync(path.join(home, file), 'utf8')).results.length;
  expect(['people.json', 'Person.json', 'City.json'].map(found)).toEqual([2, 3, 3]);
  expect(fs.statSync(path.join(home, '.config/graphcred/store.key')).mode & 0o777).toBe(0o600);
  // The first was made for one command and is revoked; the others are one cached token.
  expect(tokens.map(({ status }) => status)).toEqual(['403', '200', '200']);
  expect(tokens[1]).toEqual(tokens[2]);
};

const PAGES: Page[] = [
  {
    page: '../README.md',
    without: ['Install'],
    serverVersion: '3.10.1',
    shell: ['bash', '-i'],
    columns: 200,
    answers: { Graph: 'social', 'User name': 'tigergraph', 'Make a secret': '' },
    before: { 'A CI job': 'export CI=true FILE_FROM_THE_CI_SETTINGS="$HOME/graph-secret"' },
    check: ({ screen, tokens }) => {
      expect(screen).toMatch(/"error":false[\s\S]*\n32\n[\s\S]*token +valid/);
      expect(tokens).toMatchObject([{ status: '403' }]);
    },
  },
  {
    page: 'first-steps.md',
    serverVersion: '3.10.1',
    shell: ['bash', '-i'],
    check: () => {},
  },
  {
    page: 'cloud.md',
    serverVersion: '4.1.2',
    shell: ['bash', '-i'],
    check: ({ bytes, tokens }) => {
      expect(tokens).toMatchObject([{ status: '200' }]);
      expect(bytes).not.toMatch(CREDENTIAL);
    },
  },
  { page: 'ci/shell.md', serverVersion: '3.10.1', shell: ['bash', '-i', '-x'], check: checkShellPage },
  { page: 'ci/shell.md', serverVersion: '4.1.2', shell: ['sh', '-i', '-x'], check: checkShellPage },
];

test.skipIf(skipped).each(PAGES)(
  '$page can be typed from top to bottom into $shell.0, with a server $serverVersion, and prints what it shows',
  async ({ page, without = [], serverVersion, shell, columns = 100, answers = {}, before = {}, check }) => {
    const tls = await certificate('graph.example.com', CLOUD);
    const sandbox = await social(serverVersion, { tls });
    const [rest, gsql] = [sandbox.restUrl, sandbox.gsqlUrl].map((url) => Number(new URL(url).port));
    const [ownRest, ownGsql] = [await freePort(), await freePort()];
    const hosts = {
      'graph.example.com:9000': rest,
      'graph.example.com:14240': gsql,
      'graph.example.com:443': gsql,
      [`${CLOUD}:443`]: gsql,
      '127.0.0.1:9000': ownRest,
      '127.0.0.1:14240': ownGsql,
    };
    const home = homeWith(tls.cert, hosts);
    const terminal = onTerminal([], {
      command: shell,
      cwd: home,
      columns,
      env: {
        HOME: home,
        PATH: `${path.join(home, 'bin')}:${process.env.PATH}`,
        PS1: '$ ',
        XDG_RUNTIME_DIR: home,
        LC_ALL: 'C.UTF-8',
        NODE_OPTIONS: `--require ${path.resolve('scripts/stage.cjs')}`,
        STAGE_HOSTS: JSON.stringify(hosts),
        GRAPHCRED_CA: path.join(home, 'ca.pem'),
        ...(page !== 'first-steps.md' && { GRAPHCRED_STORE: 'file' }),
      },
    });
    // Where a test fails, the shell ends what it has started in the background.
    onTestFinished(async () => {
      terminal.close();
      await terminal.ended;
    });
    // The prompt of sh is # for root, and > while a command goes on in the next line.
    const isIdle = (screen: string) => /(^|\n|})[$#>]$/.test(screen);
    const typeLine = async (line: string, shown: string) => {
      const length = terminal.screen().length;
      terminal.type(`${line}\r`);
      await terminal.see((screen) => screen.length > length);
      const asked: string[] = [];
      for (;;) {
        await terminal.see((screen) => isIdle(screen) || QUESTION.test(screen));
        const question = QUESTION.exec(terminal.screen())?.[1]?.trim();
        if (question === undefined) break;
        expect(asked).not.toContain(question);
        asked.push(question);
        const answered = terminal.screen().split('✔').length;
        terminal.type(`${answerOf(question, shown, answers)}\r`);
        await terminal.see((screen) => screen.split('✔').length > answered);
      }
    };

    await terminal.see(isIdle);
    let heading = '';
    for (const one of blocksOf(page).filter((some) => !without.includes(some.heading))) {
      if (one.heading !== heading) {
        heading = one.heading;
        const [line] = [before[heading]];
        if (line !== undefined) await typeLine(line, '');
      }
      const start = terminal.unbroken().length;
      for (const [line, shown] of linesOf(one.language, one.text)) {
        await typeLine(line, shown);
        const [, log] = /> (\S+) 2>&1 &$/.exec(line) ?? [];
        if (log)
          await vi.waitFor(() => expect(fs.readFileSync(path.join(home, log), 'utf8')).toContain('restUrl'));
      }
      // The block begins after the prompt that was there before.
      const seen = `$ ${terminal.unbroken().slice(start).trimStart()}`.replace(/\$$/, '');
      if (one.language === 'console') expect(constant(seen)).toBe(constant(one.text));
    }
    const record = path.join(home, 'tokens');
    const tokens = fs.existsSync(record) ? fs.readFileSync(record, 'utf8').trim().split('\n') : [];
    const statusOf = async (token: string) => {
      const words = ['-o', '/dev/null', '-w', '%{http_code}', '-H', `Authorization: Bearer ${token}`];
      const url = 'https://graph.example.com/restpp/echo';
      return { token, status: (await spawned(['curl', '-s', ...words, url], { HOME: home })).stdout };
    };
    check({
      screen: terminal.unbroken(),
      bytes: terminal.bytes(),
      home,
      tokens: await Promise.all(tokens.map(statusOf)),
    });
  },
);

test('this file runs every block that it lists', ({ skip }) => {
  skip(skipped, 'no page was typed');
  expect(unused('test/pages/first-steps.test.ts')).toEqual([]);
});

/** Makes a home with what the pages take for granted. curl finds the servers and believes them, as graphcred does. */
function homeWith(cert: string, hosts: Readonly<Record<string, number | undefined>>): string {
  const home = temporaryHome();
  putCommand(home);
  const places = Object.entries(hosts).map(([place, port]) => `connect-to = "${place}:127.0.0.1:${port}"`);
  const files = {
    'ca.pem': cert,
    '.curlrc': [`cacert = "${home}/ca.pem"`, ...places].join('\n'),
    '.bashrc': "PS1='$ '\nbind 'set enable-bracketed-paste off'\n",
    'graph-secret': SECRET,
    'load.py': 'import os; print(len(os.environ["TG_API_TOKEN"]))',
    'load.sh': `#!/bin/sh -e
test -z "$GRAPHCRED_SECRET$TG_SECRET"
printenv TG_API_TOKEN >> ~/tokens
echo loaded
`,
    'bin/tigergraph-mcp': `#!/bin/sh
echo "serving $TG_HOST $TG_GRAPHNAME with a\${TG_API_TOKEN:+ token}\${TG_SECRET+ secret}"
`,
  };
  for (const [file, text] of Object.entries(files))
    fs.writeFileSync(path.join(home, file), text, { mode: 0o700 });
  return home;
}

/** The lines of a block that a person types, each with the output that the page shows for it. */
function linesOf(language: string, text: string): [line: string, shown: string][] {
  if (language === 'sh')
    return text
      .trim()
      .split('\n')
      .map((line) => [line, '']);
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...shown] = part.split('\n');
      return [command, shown.join('\n')];
    });
}

/** What a person types at the question. It is Enter if the page shows the proposed answer. */
function answerOf(question: string, shown: string, answers: Readonly<Record<string, string>>): string {
  const [, text = '', proposed = ''] = /^(.*?)(?:\s+[([]((?:(?![([]).)*)[)\]])?$/s.exec(question) ?? [];
  if (proposed === 'input is masked') return 'tigergraph';
  const words = text.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  const answer =
    new RegExp(`✔ ${words.join('\\s+')}(?: \\(.*\\))? (.+)$`, 'm').exec(shown)?.[1] ??
    Object.entries(answers).find(([start]) => question.startsWith(start))?.[1];
  if (answer === undefined) throw new Error(`the page shows no answer to: ${question}`);
  if (answer === proposed) return '';
  return { Yes: 'y', No: 'n' }[answer] ?? answer;
}

/** Replaces the parts of the output that differ from run to run. */
function constant(text: string): string {
  return text
    .replace(/\b20\d\d-\d\d-\d\d \d\d:\d\d\b/g, '(date and time)')
    .replace(/\b[a-z0-9]{3}\*{4}[a-z0-9]{3}\b/g, '(mask)')
    .replace(/\b[a-z0-9]{32}\b/g, '(value)')
    .replace(/^\[1\] \d+$/m, '[1] (process)')
    .replace(/^# /gm, '$ ')
    .replace(/[ \t]+$/gm, '')
    .trim();
}
