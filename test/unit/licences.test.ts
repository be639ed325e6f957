import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';

type Locked = Record<string, unknown>;

const SUM = 'sha512-AAAA';

/** Returns what the script prints about a project with these packages. */
function look(packages: Record<string, Locked>, licences: Record<string, unknown> = {}, scripts = {}) {
  const root = temporaryHome();
  fs.writeFileSync(path.join(root, 'package.json'), JSON.stringify({ name: 'x', scripts }));
  fs.writeFileSync(
    path.join(root, 'package-lock.json'),
    JSON.stringify({ packages: { '': {}, ...packages } }),
  );
  for (const [name, fields] of Object.entries(licences)) {
    const folder = path.join(root, 'node_modules', name);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(fields));
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/licences.mjs', root], {
    encoding: 'utf8',
  });
  return { status, told: stdout + stderr };
}

const fine: Locked = { version: '1.0.0', integrity: SUM, license: 'MIT' };

test.each(['MIT', '(MIT OR GPL-3.0-only)', 'MIT AND ISC', 'Apache-2.0'])('%s is allowed', (license) => {
  expect(look({ 'node_modules/a': fine }, { a: { license } })).toMatchObject({ status: 0 });
});

test.each<[string, unknown]>([
  ['GPL-3.0-only', { license: 'GPL-3.0-only' }],
  ['MIT AND GPL-3.0-only', { license: 'MIT AND GPL-3.0-only' }],
  ['SEE LICENSE IN file', { license: 'SEE LICENSE IN file' }],
  ['unknown', {}],
  ['BUSL-1.1', { licenses: [{ type: 'BUSL-1.1' }] }],
])('%s is not allowed, whatever the lockfile says', (licence, fields) => {
  const { status, told } = look({ 'node_modules/a': fine }, { a: fields });
  expect(status).toBe(1);
  expect(told).toContain(`a 1.0.0 has the licence ${licence}, which is not one of those allowed`);
});

test('a package that only developers install may have any licence', () => {
  const packages = { 'node_modules/a': { ...fine, dev: true, license: 'GPL-3.0-only' } };
  expect(look(packages)).toMatchObject({ status: 0 });
});

test('a package without a checksum, or with an old one, is reported, also one for another system', () => {
  const elsewhere = { ...fine, integrity: undefined, dev: true, optional: true };
  for (const locked of [{ ...fine, integrity: undefined }, { ...fine, integrity: 'sha1-AAAA' }, elsewhere]) {
    const { status, told } = look({ 'node_modules/a': locked });
    expect({ status, told }).toEqual({ status: 1, told: expect.stringContaining('a 1.0.0 has no checksum') });
  }
});

test('a script that runs at installation is reported, also of a tool and of graphcred itself', () => {
  const scripted = { ...fine, hasInstallScript: true };
  const { status, told } = look(
    {
      'node_modules/a': { ...scripted, dev: true },
      'node_modules/keytar': { ...scripted, name: '@github/keytar' },
      'node_modules/b/node_modules/keytar': { ...scripted },
    },
    {},
    { postinstall: 'node x.js' },
  );
  expect(status).toBe(1);
  expect(told.trim().split('\n')).toEqual([
    'licences: a 1.0.0 runs a script when it is installed',
    'licences: keytar 1.0.0 runs a script when it is installed',
    'licences: graphcred itself has a script postinstall',
  ]);
});
