import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { expect, test } from 'vitest';
// @ts-expect-error A script without types.
import { readTable, svg } from '../../bench/report.mjs';
import { temporaryHome } from '../helpers/cli.js';
import { python } from '../helpers/terminal.js';

const PICTURES = ['demo.svg', 'status.svg'];

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

test.skipIf(!python)(
  'the pictures show what the program prints now (npm run pictures makes them again)',
  () => {
    const folder = temporaryHome();
    execFileSync(process.execPath, ['scripts/pictures.mjs', folder], { stdio: 'pipe' });
    expect(fs.readdirSync(folder).sort()).toEqual(PICTURES);
    for (const name of PICTURES) {
      expect(fs.readFileSync(`${folder}/${name}`, 'utf8')).toBe(
        fs.readFileSync(`docs/pictures/${name}`, 'utf8'),
      );
    }
  },
);
