import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { RUN_BY } from '../helpers/code-blocks.js';
import { block, blocksOf, unused } from '../helpers/docs.js';
import { putCommand, standaloneSkipReason } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

const README = '../README.md';
const STEPS = 'first-steps.md';
const noCurl = !(process.env.PATH ?? '')
  .split(':')
  .some((folder) => fs.existsSync(path.join(folder, 'curl')));
if (noCurl) console.log('the blocks of README and first-steps.md are skipped: curl is not installed');

/** Replaces the addresses in the pages by those of the sandbox, and nothing else. */
function here(text: string, { restUrl, gsqlUrl }: Sandbox): string {
  return text
    .replaceAll('host: "http://127.0.0.1"', `restUrl: "${restUrl}", gsqlUrl: "${gsqlUrl}"`)
    .replaceAll('http://127.0.0.1:9000', restUrl)
    .replaceAll('https://graph.example.com:9000', restUrl)
    .replaceAll('--host https://graph.example.com', `$& --rest-port ${new URL(restUrl).port}`)
    .replaceAll('https://graph.example.com/restpp', restUrl)
    .replaceAll('https://graph.example.com', gsqlUrl);
}

/** Replaces the parts of the output that differ from run to run. */
function constant(text: string): string {
  return text
    .replace(/\b20\d\d-\d\d-\d\d \d\d:\d\d\b/g, '(date and time)')
    .replace(/\b[a-z0-9]{3}\*{4}[a-z0-9]{3}\b/g, '(mask)')
    .replace(/[ \t]+$/gm, '')
    .trim();
}

/** The commands in a terminal block of the page, each with the output that the page shows for it. */
function commandsOf(heading: string): { command: string; shown: string }[] {
  const text = blocksOf(STEPS)
    .filter((one) => one.heading === heading && one.language === 'console')
    .map((one) => one.text)
    .join('');
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...shown] = part.split('\n');
      return { command, shown: shown.join('\n') };
    });
}

/** What a person types at the question. It is Enter if the page shows the proposed answer. */
function answerOf(question: string, proposed: string, shown: string): string {
  const words = question.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  const answer = new RegExp(`✔ ${words.join('\\s+')} (.+)$`, 'm').exec(shown)?.[1];
  if (answer === undefined) throw new Error(`the page shows no answer to: ${question}`);
  if (answer === proposed) return '';
  return { Yes: 'y', No: 'n' }[answer] ?? answer;
}

const QUESTION = /^\? ((?:(?!^[?✔]).)+)$/msu;

describe.skipIf(noCurl || !python || standaloneSkipReason !== undefined)('first-steps.md', () => {
  test('the commands of the page print what the page shows, and ask for each answer once, and for the password at each login', async () => {
    const home = temporaryHome();
    const bin = putCommand(home);
    fs.writeFileSync(path.join(home, 'nightly.sh'), block(STEPS, 'Use the secret in a script', 'sh'));
    const env = { HOME: home, PATH: `${bin}:${process.env.PATH}`, XDG_RUNTIME_DIR: home, LC_ALL: 'C.UTF-8' };

    const [start] = commandsOf('Start the sandbox');
    const words = start?.command.split(' ').slice(1) ?? [];
    const sandbox = onTerminal([...words, '--rest-port', '0', '--gsql-port', '0'], { env, cwd: home });
    await sandbox.see(() => sandbox.unbroken().endsWith('-u tigergraph'));
    const { restUrl, gsqlUrl } = JSON.parse(sandbox.unbroken().split('\n')[0] ?? '');
    const usual = sandbox
      .unbroken()
      .replaceAll(restUrl, 'http://127.0.0.1:9000')
      .replaceAll(gsqlUrl, 'http://127.0.0.1:14240');
    expect(usual).toBe(start?.shown.trim());

    // The ports on the page may be in use on this machine, so graphcred and curl get the ports of the sandbox.
    const [restPort = '', gsqlPort = ''] = [restUrl, gsqlUrl].map((url) => new URL(url).port);
    const hosts = { '127.0.0.1:9000': Number(restPort), '127.0.0.1:14240': Number(gsqlPort) };
    fs.writeFileSync(path.join(home, '.curlrc'), `connect-to = "127.0.0.1:9000:127.0.0.1:${restPort}"\n`);
    fs.writeFileSync(path.join(home, '.bashrc'), "PS1='$ '\n");
    const stage = path.resolve('scripts/stage.cjs');
    const shell = onTerminal([], {
      command: ['bash', '--rcfile', path.join(home, '.bashrc'), '-i'],
      env: { ...env, NODE_OPTIONS: `--require ${stage}`, STAGE_HOSTS: JSON.stringify(hosts) },
      cwd: home,
    });
    const isIdle = (screen: string) => /(^|\n)\$$/.test(screen);
    await shell.see(isIdle);
    const pages = [
      'Log in',
      'A second profile',
      'Use the secret in a script',
      'Give the secret a new value',
      'Clean up',
    ];
    const commands = pages.flatMap(commandsOf);
    const typed: string[] = [];
    for (const { command, shown } of commands) {
      const answered = () => shell.screen().split('✔').length;
      shell.type(`${command}\r`);
      await shell.see((screen) => !isIdle(screen));
      for (;;) {
        await shell.see((screen) => isIdle(screen) || QUESTION.test(screen));
        const question = QUESTION.exec(shell.screen())?.[1];
        if (question === undefined) break;
        const [, text = '', proposed = ''] =
          /^(.*?)(?:\s+[([]((?:(?![([]).)*)[)\]])?$/s.exec(question.trim()) ?? [];
        const isHidden = proposed === 'input is masked';
        const answer = isHidden ? 'tigergraph' : answerOf(text, proposed, shown);
        typed.push(isHidden ? '(the password)' : `${command}: ${text}`);
        const before = answered();
        shell.type(`${answer}\r`);
        await shell.see(() => answered() > before);
      }
    }
    const visible = typed.filter((one) => one !== '(the password)');
    expect(typed.length - visible.length).toBe(2);
    expect(new Set(visible).size).toBe(visible.length);
    const page = commands.map(({ command, shown }) => `$ ${command}\n${shown}`).join('');
    expect(constant(shell.unbroken().replace(/\$$/, ''))).toBe(constant(page));
    expect(shell.bytes()).not.toMatch(/\b(?=[a-z]*\d)[a-z0-9]{32}\b/);

    sandbox.type(KEYS.ctrlC);
    expect(await sandbox.ended).toMatchObject({ status: 0 });
  });
});

describe.skipIf(noCurl || !python || standaloneSkipReason !== undefined)('README.md', () => {
  test('its blocks can be typed from top to bottom in one shell', async () => {
    const secret = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';
    const sandbox = await startSandbox({
      restPort: 0,
      gsqlPort: 0,
      graphs: ['demo', 'social'],
      secrets: [{ alias: 'ci', value: secret, user: 'tigergraph', graph: 'social' }],
    });
    onTestFinished(() => sandbox.close());
    const home = temporaryHome();
    fs.writeFileSync(path.join(home, 'load.py'), 'import os; print(len(os.environ["TG_API_TOKEN"]))\n');
    fs.writeFileSync(path.join(home, 'load.sh'), '#!/bin/sh\nprintenv TG_API_TOKEN\n', { mode: 0o755 });
    fs.writeFileSync(path.join(home, 'secret'), secret, { mode: 0o600 });
    fs.writeFileSync(path.join(home, '.bashrc'), "PS1='$ '\nbind 'set enable-bracketed-paste off'\n");
    const practice = block(README, 'The main job, on a practice server', 'text');
    const lines = [
      ...practice.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : [])),
      ...block(README, 'Your database', 'sh').trim().split('\n'),
      `export CI=true FILE_FROM_THE_CI_SETTINGS=${path.join(home, 'secret')}`,
      ...block(README, 'A CI job', 'sh').trim().split('\n'),
    ];
    const answers = {
      Graph: 'demo',
      'User name': 'tigergraph',
      Password: 'tigergraph',
      'Make a secret': '',
    };
    const shell = onTerminal([], {
      command: ['bash', '--rcfile', path.join(home, '.bashrc'), '-i'],
      cwd: home,
      columns: 200,
      env: {
        HOME: home,
        PATH: `${putCommand(home)}:${process.env.PATH}`,
        XDG_RUNTIME_DIR: home,
        LC_ALL: 'C.UTF-8',
        GRAPHCRED_STORE: 'file',
      },
    });
    // The prompt of sh is # for root.
    const isIdle = (screen: string) => /(^|\n|})[$#]$/.test(screen);
    await shell.see(isIdle);
    const asked: string[] = [];
    for (const line of lines) {
      const before = shell.screen().length;
      shell.type(`${here(line, sandbox)}\r`);
      await shell.see((screen) => screen.length > before);
      for (;;) {
        await shell.see((screen) => isIdle(screen) || QUESTION.test(screen));
        const [question, answer] = Object.entries(answers).find(
          ([name]) => QUESTION.exec(shell.screen())?.[1]?.startsWith(name) && !asked.includes(name),
        ) ?? [''];
        if (answer === undefined) break;
        asked.push(question);
        shell.type(`${answer}\r`);
        await shell.see((screen) => screen.split('✔').length > asked.length);
      }
    }
    const screen = shell.unbroken();
    const values = (text: string) =>
      constant(text)
        .replace(/\b[a-z0-9]{32}\b/g, '(value)')
        .replace(/^# /gm, '$ ');
    expect(asked).toEqual(Object.keys(answers));
    expect(values(screen)).toContain(values(practice));
    expect(screen).toMatch(/"error":false[\s\S]*\n32\n[\s\S]*token +valid/);
    // The token of the CI job is revoked.
    const [token] = /\b[a-z0-9]{32}(?=\n\$$)/.exec(screen) ?? [];
    const answer = await fetch(`${sandbox.restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.text()).toContain('is invalid');
  });
});

test.skipIf(noCurl || !python || standaloneSkipReason !== undefined)(
  'this file runs every block that it lists',
  () => {
    expect(unused(RUN_BY['test/e2e/first-steps.test.ts'])).toEqual([]);
  },
);
