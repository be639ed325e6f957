// Checks the workflows and action.yml with actionlint, which knows what GitHub accepts.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const cache = path.resolve('node_modules/.cache/actionlint');
const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) console.log('actionlint is not run: go is not installed');

describe.skipIf(!hasGo)('actionlint', () => {
  const lint = (cwd: string) => {
    const { status, stdout } = spawnSync(path.join(cache, 'actionlint'), ['-no-color'], {
      cwd,
      encoding: 'utf8',
    });
    return { status, stdout };
  };

  beforeAll(() => {
    execFileSync('go', ['install', ACTIONLINT], { env: { ...process.env, GOBIN: cache }, stdio: 'pipe' });
  }, 600_000);

  test('finds no mistake in the workflows and in action.yml', () => {
    expect(lint(process.cwd())).toEqual({ status: 0, stdout: '' });
  });

  test.each([
    ['.github/workflows/ci.yml', 'runs-on: ubuntu-24.04', 'runs-on: ubuntu-2404'],
    ['.github/workflows/ci.yml', 'gsql-url: $', 'gsqlurl: $'],
    ['action.yml', 'icon: lock', 'icon: no-such-icon'],
  ])('finds a mistake in %s', (file, right, wrong) => {
    const folder = temporaryHome();
    for (const name of ['.github', 'action.yml', 'dist/action'])
      fs.cpSync(name, path.join(folder, name), { recursive: true });
    fs.mkdirSync(path.join(folder, '.git'));
    const text = fs.readFileSync(file, 'utf8');
    expect(text).toContain(right);
    fs.writeFileSync(path.join(folder, file), text.replace(right, wrong));
    expect(lint(folder).status).toBe(1);
  });
});
