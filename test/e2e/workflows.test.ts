// Tests the workflows of .github: their permissions, and their shell steps, which are run as the runner runs them.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { defaultLoaders } from 'cosmiconfig';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { BIN, endOf } from '../helpers/process.js';

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Record<string, string>;
}
interface Job {
  readonly permissions?: Record<string, string>;
  readonly steps?: readonly Step[];
  readonly strategy?: { matrix: { os?: string[]; node?: number[]; include?: { target: string }[] } };
}
interface Workflow {
  readonly permissions: Record<string, string>;
  readonly jobs: Record<string, Job>;
}

const FOLDER = '.github/workflows';
const text = (name: string) => fs.readFileSync(path.join(FOLDER, name), 'utf8');
const read = (name: string) => defaultLoaders['.yaml'](name, text(name)) as Workflow;
const [ci, release] = [read('ci.yml'), read('release.yml')];
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };

/** Returns the shell script of a step. */
function script(workflow: Workflow, job: string, name: string): string {
  const step = workflow.jobs[job]?.steps?.find((one) => one.name === name);
  if (step?.run === undefined) throw new Error(`${job} has no step ${name}`);
  return step.run;
}

/** Runs a script as `shell: bash` does, with these programs first on the PATH. */
async function bash(
  run: string,
  cwd: string,
  env: Record<string, string> = {},
  programs: Record<string, string> = {},
) {
  const home = temporaryHome();
  const bin = path.join(home, 'bin');
  fs.mkdirSync(bin);
  for (const [name, body] of Object.entries(programs))
    fs.writeFileSync(path.join(bin, name), `#!/bin/bash\n${body}\n`, { mode: 0o755 });
  const file = path.join(home, 'step.sh');
  fs.writeFileSync(file, run);
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], {
    cwd,
    env: { HOME: home, CI: 'true', ...env, PATH: `${bin}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { status, stdout, stderr } = await endOf(child);
  return { status, stdout, stderr };
}

function git(cwd: string, ...words: string[]): string {
  const name = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', [...name, ...words], { cwd, encoding: 'utf8' }).trim();
}

/** Creates a repository with a version, a section for it in the changelog, and one commit. */
function repository(changelog: string): string {
  const folder = temporaryHome();
  fs.writeFileSync(path.join(folder, 'package.json'), '{"version":"1.2.3"}');
  fs.writeFileSync(path.join(folder, 'CHANGELOG.md'), changelog);
  fs.writeFileSync(path.join(folder, '.gitignore'), 'dist/\nnode_modules/\nrelease/\n');
  git(folder, 'init', '-q');
  git(folder, 'add', '.');
  git(folder, 'commit', '-q', '-m', 'all');
  return folder;
}

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n* later\n\n## 1.2.3\n\n* this\n\n## 1.2.2\n\n* earlier\n';

describe('what the workflows may do', () => {
  test.each(['ci.yml', 'weekly.yml', 'release.yml'])(
    '%s uses only actions of GitHub, each pinned to a commit of a major that runs on Node 24',
    (name) => {
      const uses = [...text(name).matchAll(/uses: (.*)$/gm)].map(([, value]) => value);
      expect(uses.length).toBeGreaterThan(0);
      for (const value of uses)
        expect(value).toMatch(
          /^(?:actions\/(?:(?:checkout|setup-node)@[0-9a-f]{40} # v[5-9]|upload-artifact@[0-9a-f]{40} # v[6-9]|download-artifact@[0-9a-f]{40} # v[7-9]|attest-build-provenance@[0-9a-f]{40} # v[4-9])\.\d+\.\d+|\.\/(?:\.github\/workflows\/(?:ci|weekly)\.yml)?)$/,
        );
    },
  );

  test('no job reads a secret', () => {
    for (const name of ['ci.yml', 'release.yml']) expect(text(name)).not.toMatch(/secrets\./);
  });

  test('each job has the least rights, and jobs that may write run no code of dependencies', () => {
    expect(ci.permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(ci.jobs)) expect(job.permissions).toBeUndefined();
    expect(release.permissions).toEqual({});
    const rights = Object.fromEntries(
      Object.entries(release.jobs).map(([name, job]) => [name, job.permissions]),
    );
    expect(rights).toEqual({
      ci: { contents: 'read' },
      weekly: { contents: 'read' },
      build: { contents: 'read' },
      try: {},
      attest: { 'id-token': 'write', attestations: 'write' },
      npm: { 'id-token': 'write' },
      release: { contents: 'write' },
    });
    for (const job of ['attest', 'npm', 'release'])
      for (const { run = '' } of release.jobs[job]?.steps ?? [])
        expect(run).not.toMatch(/npm (?:ci|run|install)|node /);
  });
});

describe('the steps of release.yml', () => {
  test('the version is that of package.json', async () => {
    const folder = repository(CHANGELOG);
    const output = path.join(folder, 'output');
    expect(await bash(script(release, 'build', 'Version'), folder, { GITHUB_OUTPUT: output })).toMatchObject({
      status: 0,
    });
    expect(fs.readFileSync(output, 'utf8')).toBe('version=1.2.3\n');
  });

  test.each([
    ['is released already', CHANGELOG, ['tag', 'v1.2.3'], 'raise the version'],
    [
      'has no section in the changelog',
      '# Changelog\n\n## 1.2.30\n',
      ['tag', 'v1.2.2'],
      'no section ## 1.2.3',
    ],
  ])('a version that %s is not released', async (_name, changelog, tag, words) => {
    const folder = repository(changelog);
    git(folder, ...tag);
    const { status, stdout } = await bash(script(release, 'build', 'Version'), folder, {
      GITHUB_OUTPUT: '/dev/null',
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(new RegExp(`^::error::.*${words}`, 'm'));
  });

  test('the checksums name every file of the release, and a changed file is not published', async () => {
    const folder = temporaryHome();
    const dist = path.join(folder, 'dist-standalone');
    fs.mkdirSync(path.join(dist, 'container'), { recursive: true });
    const files = [
      'graphcred-1.2.3.tgz',
      'graphcred-linux-x64',
      'graphcred-windows-x64.exe',
      'graphcred_1.2.3_amd64.deb',
    ];
    for (const file of files) fs.writeFileSync(path.join(dist, file), file);
    expect(await bash(script(release, 'build', 'Checksums'), folder)).toMatchObject({ status: 0 });
    const sums = fs.readFileSync(path.join(dist, 'SHA256SUMS'), 'utf8');
    expect(
      sums
        .trim()
        .split('\n')
        .map((line) => line.split('  ')[1]),
    ).toEqual(files);
    expect(fs.existsSync(path.join(dist, 'container'))).toBe(false);
    const check = script(release, 'npm', 'Checksums');
    expect(await bash(check, dist)).toMatchObject({ status: 0 });
    fs.appendFileSync(path.join(dist, 'graphcred-1.2.3.tgz'), '!');
    expect((await bash(check, dist)).status).not.toBe(0);
  });

  test.each(['', '.exe'])('an executable%s is tested before anything is published', async (suffix) => {
    const folder = temporaryHome();
    const run = script(release, 'try', 'The executable gets a token');
    fs.writeFileSync(
      path.join(folder, `graphcred-some-x64${suffix}`),
      `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`,
    );
    const env = { TARGET: 'some-x64', VERSION: version };
    expect(await bash(run, folder, env)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('accepts the token'),
    });
    expect((await bash(run, folder, { ...env, VERSION: '9.9.9' })).status).not.toBe(0);
  });

  test('npm publishes the tarball with provenance, to everybody, and runs no script of it', async () => {
    const { publishConfig } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
    expect(publishConfig).toEqual({ access: 'public', provenance: true });
    const step = script(release, 'npm', 'Publish with provenance');
    const { stdout } = await bash(step, temporaryHome(), { VERSION: '1.2.3' }, { npm: 'echo "$*"' });
    expect(stdout).toBe('publish ./graphcred-1.2.3.tgz --ignore-scripts\n');
  });

  test('the tags contain the built action, and the branch does not', async () => {
    const folder = repository(CHANGELOG);
    const origin = temporaryHome();
    git(origin, 'init', '-q', '--bare');
    git(folder, 'remote', 'add', 'origin', origin);
    git(folder, 'push', '-q', 'origin', 'HEAD:main');
    // The major tag of an earlier release is moved to this one.
    git(folder, 'push', '-q', 'origin', 'HEAD:refs/tags/v1');
    const packages = ['jose', 'oauth4webapi', 'openid-client'];
    const built = [
      'dist/THIRD-PARTY-NOTICES',
      'dist/action/main.cjs',
      'dist/cli/start.cjs',
      ...packages.map((name) => `node_modules/${name}/index.js`),
    ];
    for (const file of built) {
      fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      fs.writeFileSync(path.join(folder, file), 'built');
    }
    fs.mkdirSync(path.join(folder, 'release'));
    fs.writeFileSync(path.join(folder, 'release/file'), 'file');
    execFileSync('sh', ['-c', 'sha256sum file > SHA256SUMS'], { cwd: path.join(folder, 'release') });
    const tagged = await bash(script(release, 'release', 'Tag the sources with the built action'), folder, {
      VERSION: '1.2.3',
      GH_TOKEN: 'ghs_0123456789',
    });
    expect({ status: tagged.status, stderr: tagged.stderr }).toMatchObject({ status: 0 });
    expect(
      tagged.stdout + tagged.stderr + fs.readFileSync(path.join(folder, '.git/config'), 'utf8'),
    ).not.toContain('ghs_0123456789');
    const filled = execFileSync('git', ['credential', 'fill'], {
      cwd: folder,
      env: { PATH: process.env.PATH, GH_TOKEN: 'ghs_0123456789' },
      input: 'protocol=https\nhost=github.com\n\n',
      encoding: 'utf8',
    });
    expect(filled).toMatch(/^username=x-access-token\npassword=ghs_0123456789$/m);
    for (const tag of ['v1.2.3', 'v1']) {
      const files = git(origin, 'ls-tree', '-r', '--name-only', tag).split('\n');
      expect(files.filter((file) => /^(?:release|dist|node_modules)/.test(file))).toEqual(built);
      expect(git(origin, 'rev-parse', `${tag}^`)).toBe(git(origin, 'rev-parse', 'main'));
    }
  });

  test('the release contains the notes of its own version only', async () => {
    const folder = repository(CHANGELOG);
    const { status, stdout } = await bash(
      script(release, 'release', 'Release'),
      folder,
      { VERSION: '1.2.3', GH_TOKEN: 'x' },
      { gh: 'echo "$*"; cat notes.md' },
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^release create v1\.2\.3 --verify-tag --title v1\.2\.3 --notes-file notes\.md/);
    expect(stdout).toMatch(/\* this/);
    expect(stdout).not.toMatch(/later|earlier/);
  });
});
