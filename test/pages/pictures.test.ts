import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
// @ts-expect-error A script without types.
import { readTable, svg } from '../../bench/report.mjs';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { lacking } from '../helpers/lacking.js';
import { spawned } from '../helpers/process.js';
import { python } from '../helpers/terminal.js';

const PICTURES = ['demo.svg', 'storm.svg'];

test('performance.svg shows the figures of its page (npm run bench writes it again)', () => {
  const page = fs.readFileSync('docs/dev/performance.md', 'utf8');
  const [, table = ''] = /<!-- bench: .*-->\n([\s\S]*?)<!-- end of bench -->/.exec(page) ?? [];
  const { machine, rows } = readTable(table);
  expect(rows.length).toBeGreaterThan(10);
  expect(fs.readFileSync('docs/dev/performance.svg', 'utf8')).toBe(svg({ machine, rows }));
});

test('every picture in docs/pictures is used in a page, and shows nothing of the machine on which it was made', () => {
  expect(fs.readdirSync('docs/pictures').sort()).toEqual(PICTURES);
  const pages = ['README.md', ...fs.readdirSync('docs').map((name) => `docs/${name}`)].filter((name) =>
    name.endsWith('.md'),
  );
  const text = pages.map((page) => fs.readFileSync(page, 'utf8')).join('');
  for (const name of PICTURES) {
    expect(text).toContain(`pictures/${name})`);
    const hosts = fs.readFileSync(`docs/pictures/${name}`, 'utf8').matchAll(/https?:\/\/([^\s/<:"]+)/g);
    for (const [, host] of hosts) expect(host).toMatch(/^(127\.0\.0\.1|\w+\.example\.com|www\.w3\.org)$/);
  }
});

test.skipIf(!python || lacking('the pictures', 'curl', 'jq').length > 0 || keyringSkipReason() !== undefined)(
  'the pictures show what the program prints now (npm run pictures makes them again)',
  // On an overloaded machine a hundred processes can starve the one that mints for five seconds; then another mints too.
  { retry: 2, timeout: 300_000 },
  async () => {
    const folder = temporaryHome();
    await withKeyring({}, async ({ env }) => {
      const STAGE_BUS = env.DBUS_SESSION_BUS_ADDRESS ?? '';
      const made = await spawned([process.execPath, 'scripts/pictures.mjs', folder], { STAGE_BUS });
      expect(made).toMatchObject({ status: 0, stderr: '' });
    });
    expect(fs.readdirSync(folder).sort()).toEqual(PICTURES);
    for (const name of PICTURES)
      await expect(fs.readFileSync(`${folder}/${name}`, 'utf8')).toMatchFileSnapshot(
        path.resolve('docs/pictures', name),
      );
  },
);

test.skipIf(lacking('the demo', 'curl').length > 0)(
  'the demo plays the whole job, in lines of 80 columns',
  async () => {
    const { status, stdout } = await spawned([process.execPath, 'scripts/demo.mjs'], {
      HOME: temporaryHome(),
    });
    expect(status).toBe(0);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(/Hello GSQL[\s\S]*Hello GSQL[\s\S]*That was the whole job/);
  },
);
