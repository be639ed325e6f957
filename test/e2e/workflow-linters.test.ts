// Checks the workflows and action.yml with actionlint, which knows what GitHub accepts, and zizmor, which knows what is unsafe.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';

const REQUIRED = process.env.GRAPHCRED_TEST_CLIENTS === 'required';
const CACHE = path.resolve('node_modules/.cache');

interface Check {
  readonly name: string;
  readonly needs: string;
  readonly program: string;
  readonly install: readonly string[];
  readonly args: readonly string[];
  /** Mistakes that it finds: the file, and what is replaced by what. */
  readonly mistakes: readonly (readonly [file: string, right: string, wrong: string])[];
}

const CHECKS: readonly Check[] = [
  {
    name: 'actionlint',
    needs: 'go',
    program: path.join(CACHE, 'actionlint-1.7.12/actionlint'),
    install: ['install', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'],
    args: ['-no-color'],
    mistakes: [
      ['.github/workflows/ci.yml', 'runs-on: ubuntu-24.04', 'runs-on: ubuntu-2404'],
      ['.github/workflows/ci.yml', 'gsql-url: $', 'gsqlurl: $'],
      ['action.yml', 'icon: lock', 'icon: no-such-icon'],
    ],
  },
  {
    name: 'zizmor',
    needs: 'python3',
    program: path.join(CACHE, 'zizmor-1.32.0/bin/zizmor'),
    install: [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--target',
      path.join(CACHE, 'zizmor-1.32.0'),
      'zizmor==1.32.0',
    ],
    args: ['--offline', '--quiet', '--no-progress', '--min-severity', 'medium', '.github', 'action.yml'],
    mistakes: [
      ['.github/workflows/ci.yml', 'persist-credentials: false', 'fetch-depth: 1'],
      ['.github/workflows/release.yml', '"./graphcred-$VERSION.tgz"', `${'$'}{{ github.ref_name }}`],
      ['.github/dependabot.yml', 'cooldown', 'warmup'],
    ],
  },
];

describe.each(CHECKS)('$name', ({ name, needs, program, install, args, mistakes }) => {
  const isMissing = spawnSync(needs, ['--version']).error !== undefined;
  if (isMissing && !REQUIRED) console.log(`${name} is not run: ${needs} is not installed`);
  const check = (cwd: string) => {
    const { status, stdout } = spawnSync(program, args, { cwd, encoding: 'utf8' });
    return status === 0 ? '' : stdout;
  };

  describe.skipIf(isMissing && !REQUIRED)('finds', () => {
    beforeAll(() => {
      if (fs.existsSync(program)) return;
      execFileSync(needs, install, { env: { ...process.env, GOBIN: path.dirname(program) }, stdio: 'pipe' });
    }, 600_000);

    test('nothing in the workflows and in action.yml', () => {
      expect(check(process.cwd())).toBe('');
    });

    test.each(mistakes)('a mistake in %s', (file, right, wrong) => {
      const folder = temporaryHome();
      for (const one of ['.github', 'action.yml', 'dist/action'])
        fs.cpSync(one, path.join(folder, one), { recursive: true });
      fs.mkdirSync(path.join(folder, '.git'));
      const text = fs.readFileSync(file, 'utf8');
      expect(text).toContain(right);
      fs.writeFileSync(path.join(folder, file), text.replace(right, wrong));
      expect(check(folder)).not.toBe('');
    });
  });
});
