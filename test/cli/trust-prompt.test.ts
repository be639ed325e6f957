import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Invocation } from '../../src/cli/command.js';
import { askTrust } from '../../src/cli/trust-prompt.js';
import { findTrustedConfig } from '../../src/config/find.js';
import { bench, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { put } from '../helpers/home.js';
import { person } from '../helpers/person.js';

vi.mock('inquirer', async () => ({ ...(await import('../helpers/person.js')).inquirer }));

test('the question shows a REST server on another host, and hides the password of a Redis URL', async () => {
  const { shown } = await askAbout({
    host: 'https://a.example',
    restUrl: 'http://elsewhere.example:9000',
    redis: {
      url: 'rediss://fleet:hunter22@engine.example:6390/0',
      ca: 'engine.pem',
      passwordFile: '/etc/redis',
    },
  });
  for (const part of [
    'GSQL server https://a.example:14240',
    'REST server http://elsewhere.example:9000',
    'engine.example:6390/0',
    'redis.ca engine.pem',
    'redis.passwordFile /etc/redis',
  ])
    expect(shown).toContain(part);
  expect(shown).not.toContain('hunter22');
});

test('the question shows addresses, programs and files before an untrusted file is used', async () => {
  const { shown, file } = await askAbout({
    gsqlUrl: 'http://a.example:1',
    restUrl: 'http://b.example:2',
    secretCommand: ['vault', 'kv get', 'https://a:b@vault.example'],
    passwordFile: '/etc/pw',
    tls: { ca: 'ca.pem' },
  });
  for (const part of [
    `file ${file}`,
    'GSQL server http://a.example:1',
    'REST server http://b.example:2',
    // All of what would run is shown.
    "secretCommand vault 'kv get' https://a:b@vault.example",
    'passwordFile /etc/pw',
    'tls.ca ca.pem',
  ])
    expect(shown).toContain(part);
});

test('a value of the file can hide neither its end nor where a word or a line ends, and the addresses come last', async () => {
  const { shown } = await askAbout({
    host: 'https://a.example',
    secretCommand: ['sh', '-c', `x\u3000y # see docs\nrm z${' '.repeat(500)}; end`],
  });
  expect(shown).toMatch(
    /secretCommand sh -c 'x\\u\{3000\}y # see docs\\u\{a\}rm z ; end'\n.*GSQL server https:\/\/a/,
  );
});

test('the question shows what every profile runs and reads', async () => {
  const { shown } = await askAbout({
    profiles: {
      default: { host: 'https://a.example' },
      other: { gsqlUrl: 'https://b.example', tls: { ca: 'evil.pem' } },
    },
  });
  for (const part of ['tls.ca evil.pem (profile other)', 'GSQL server https://b.example'])
    expect(shown).toContain(part);
});

test.each(['$(touch pwn)', "it's", 'plain'])(
  'the command that trusts a file in the folder %j works when it is copied',
  async (name) => {
    const { run, home } = await bench();
    const file = put(home, `${name}/.graphcredrc`, 'graph: demo\njwtCommand: [./own, x]\n');
    const cwd = path.dirname(file);
    const { stderr } = await run('token get', { cwd });
    const command = /graphcred config trust (.*?); to use another file/.exec(stderr)?.[1];
    expect(execFileSync('sh', ['-c', `printf %s ${command}`], { cwd: home, encoding: 'utf8' })).toBe(file);
    expect(fs.existsSync(path.join(home, 'pwn'))).toBe(false);
    const trusted = await run('config trust', { cwd });
    expect(trusted.status).toBe(0);
    expect(trusted.stderr.replace(/ +/g, ' ')).toContain('jwtCommand ./own x');
  },
);

test.each(['-q', '-o json'])('config trust shows all that it approves, with %s too', async (option) => {
  const { run, home } = await bench();
  const profiles = { one: { host: 'https://one.example' }, two: { host: 'https://two.example' } };
  put(home, 'project/.graphcredrc', {
    host: 'https://top.example',
    secretCommand: ['./own'],
    profiles,
  });
  const { stderr } = await run(`config trust ${option}`, { cwd: path.join(home, 'project') });
  expect(stderr.match(/https:\/\/\w+\.example:14240$|secretCommand +.*/gm)).toEqual([
    'secretCommand    ./own',
    'https://top.example:14240',
    'https://one.example:14240',
    'https://two.example:14240',
  ]);
});

test('config trust approves a file by the real place of its folder, and each value has its line', async () => {
  const { run, home } = await bench();
  const passwordFile = `/${'a'.repeat(100)} GSQL server      https://good.example`;
  const file = put(home, 'project/.graphcredrc', { host: 'https://evil.example', passwordFile });
  fs.symlinkSync(path.dirname(file), path.join(home, 'link'));
  const { stdout, stderr } = await run('config trust link/.graphcredrc', {
    stderrTerminal: true,
    columns: 80,
  });
  expect(stdout).toContain(fs.realpathSync(file));
  expect(stderr).toContain(`${passwordFile}\n`);
  expect((await run('config path', { cwd: fs.realpathSync(path.dirname(file)) })).status).toBe(0);
});

// holds: C3.16
test.each(['n', 'y'])('config trust asks a person, and the answer %s counts', async (answer) => {
  const { run, home } = await bench();
  put(home, 'project/.graphcredrc', { graph: 'demo' });
  const cwd = path.join(home, 'project');
  Object.assign(person, { answers: [['Trust it until its content changes?', answer]], seen: [] });
  expect((await run('config trust', { cwd, person: true })).status).toBe(answer === 'y' ? 0 : 130);
  expect((await run('config show', { cwd })).stderr.includes('so it is not used')).toBe(answer === 'n');
});

async function askAbout(settings: object, { flags = {}, env = {} } = {}) {
  const home = temporaryHome();
  const file = put(home, '.graphcredrc.json', settings);
  const lines: string[] = [];
  const terminal = { isTTY: true, write: (line: string) => lines.push(line) };
  const ctx = { env, stdin: terminal, stderr: terminal };
  const interruption = { signal: new AbortController().signal };
  const invocation = {
    flags,
    spec: {},
    ctx,
    report: { warn: () => {} },
    interruption,
  } as unknown as Invocation;
  person.answers = ['n'];
  const input = { flags: {}, env: {}, cwd: home, home: undefined, configDir: undefined };
  const [untrusted] = (await findTrustedConfig(input)).untrusted;
  const asked = askTrust(invocation, input, defined(untrusted));
  await expect(asked).rejects.toThrow('is not trusted');
  return { file, shown: lines.join('').replace(/ +/g, ' ') };
}
