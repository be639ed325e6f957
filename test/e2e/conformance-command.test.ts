import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Recording } from '../../scripts/conformance/run.js';
import type { Target } from '../../scripts/conformance/target.js';
import { ACCOUNT, withServer } from '../contract/conformance-support.js';
import { findCredentials } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { block, unused } from '../helpers/docs.js';
import { endOf } from '../helpers/process.js';

const CANARY = new Map([[ACCOUNT.password, 'the password']]);

/** Runs `npm run conformance`. */
function start(argv: readonly string[], stdin = '') {
  const child = spawn(process.execPath, ['scripts/conformance.mjs', ...argv]);
  const ended = endOf(child);
  child.stdin.end(stdin);
  return { child, ended };
}

/** Runs it at a server, as the user `ada`. */
const startAt = ({ gsqlUrl, restUrl }: Target, out: string) => {
  const where = ['--gsql-url', gsqlUrl, '--rest-url', restUrl, '--graph', 'demo', '--out', out];
  return start([...where, '-u', ACCOUNT.user, '--password-stdin'], `${ACCOUNT.password}\n`);
};

describe('npm run conformance', () => {
  it('prints the table, exits 0 at an equal server and writes a recording without the password', async () => {
    const out = temporaryHome();
    await withServer({ serverVersion: '3.10.1' }, async (target) => {
      const ended = await startAt(target, out).ended;
      expect(ended.stderr).toContain('conformance-3.10.1.json');
      expect(ended.stdout).toMatch(/same +bad-secret: .*\n(?:.*\n)* *\d+ same, 0 differ, 0 unknown\.\n$/);
      expect(ended.status).toBe(0);
      const text = fs.readFileSync(path.join(out, 'conformance-3.10.1.json'), 'utf8');
      expect(findCredentials(text + ended.stdout + ended.stderr, CANARY)).toEqual([]);
      expect((JSON.parse(text) as Recording).version).toBe('3.10.1');
    });
  });

  it('prints both answers and exits 1 if the server’s answers differ from the sandbox’s', async () => {
    await withServer({ serverVersion: '3.10.1', switches: { maxLifetime: 3600 } }, async (target) => {
      const ended = await startAt(target, temporaryHome()).ended;
      expect(ended.stdout).toMatch(
        /differs +token-lifetime-315360000: .*\n +theirs 200 .*exceeds the maximum limit.*\n +ours +200 .*successfully/,
      );
      expect(ended.status).toBe(1);
    });
  });

  it('removes the secrets and tokens it created when it is interrupted', async () => {
    let kill = () => {};
    let statements = 0;
    let hasToken = false;
    // The sandbox has issued a token, so the run has a secret to remove.
    const log = (line: string) => {
      const { method, path: where, status } = JSON.parse(line);
      hasToken ||= method === 'POST' && where === '/requesttoken' && status === 200;
      if (where.endsWith('/file')) statements++;
      if (hasToken && statements > 6) kill();
    };
    await withServer({ serverVersion: '3.10.1', log }, async (target) => {
      const { child, ended } = startAt(target, temporaryHome());
      kill = () => {
        child.kill('SIGINT');
        kill = () => {};
      };
      const { status, stderr } = await ended;
      expect(stderr).toContain('Interrupted: removing');
      expect(stderr).not.toContain('Could not remove');
      expect(status).toBe(130);
      const login = `Basic ${btoa(`${ACCOUNT.user}:${ACCOUNT.password}`)}`;
      const shown = await fetch(`${target.gsqlUrl}/gsqlserver/gsql/file`, {
        method: 'POST',
        headers: { authorization: login },
        body: 'USE GRAPH demo\nSHOW SECRET',
      });
      expect(await shown.text()).toContain('There is no secret.');
    });
  });

  it('prints what it would send without asking for a password or sending anything', async () => {
    const ended = await start(['--dry-run', '--server-version', '4.2.2']).ended;
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(ended.stdout).toContain('POST <gsql-url>/gsql/v1/tokens (no login) {"secret":"{badSecret}"}');
    expect(ended.stdout).not.toMatch(/drop-all|clear=/);
  });

  it.each([
    [['-u', 'ada'], 'Give --gsql-url'],
    [['--gsql-url', 'http://127.0.0.1:1', '--rest-url', 'http://127.0.0.1:1'], 'Give the user'],
    [['--server-version', '5.0'], 'Write --server-version like'],
    [
      ['-u', 'ada', '--gsql-url', 'http://ada:pw@127.0.0.1:1', '--rest-url', 'http://127.0.0.1:1'],
      'Give --gsql-url',
    ],
  ])('refuses %j with a sentence that says what to type', async (argv, sentence) => {
    const ended = await start(argv).ended;
    expect(ended.stderr).toContain(sentence);
    expect(ended.status).toBe(2);
  });

  it('runs with the command lines in docs/dev/fidelity.md', async () => {
    const out = temporaryHome();
    await withServer({ serverVersion: '4.2.2' }, async ({ gsqlUrl, restUrl }) => {
      const line = block('dev/fidelity.md', 'Ask a real server', 'sh', 1);
      const argv = line
        .slice(line.indexOf(' -- ') + 4)
        .split(/[\s\\]+/)
        .filter((word) => word !== '');
      const place = (option: string, value: string) => {
        argv[argv.indexOf(option) + 1] = value;
      };
      place('--gsql-url', gsqlUrl);
      place('--rest-url', restUrl);
      place('--graph', 'demo');
      place('-u', ACCOUNT.user);
      const password = argv.indexOf('<');
      const ended = await start([...argv.slice(0, password), '--out', out], ACCOUNT.password).ended;
      expect(ended.stdout).toContain('Server 4.2.2, beside the sandbox of that version:');
      expect(fs.existsSync(path.join(out, 'conformance-4.2.2.json'))).toBe(true);
    });
  });
});

it('runs every block that this file lists', () => {
  expect(unused('test/e2e/conformance-command.test.ts')).toEqual([]);
});
