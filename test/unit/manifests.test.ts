// Makes the manifests of a release, and checks them by what the schemas of Scoop and winget and the parser of Ruby ask for.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { loadPrism } from '@ruby/prism';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryHome } from '../helpers/cli.js';

const { version, homepage } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as Record<string, string>;
const REPOSITORY = String(homepage).replace(/#.*/, '');
const OWNER = REPOSITORY.split('/').at(-2);
const RELEASE = `${REPOSITORY}/releases/download/v${version}`;
const TARGETS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'windows-x64.exe'];
const sumOf = (target: string) => TARGETS.indexOf(target).toString().repeat(64);
const make = (folder: string, targets: readonly string[]) => {
  const sums = targets.map((target) => `${sumOf(target)}  graphcred-${target}\n`).join('');
  fs.writeFileSync(path.join(folder, 'SHA256SUMS'), sums);
  return execFileSync(process.execPath, ['scripts/manifests.mjs', folder], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
};

let folder: string;
const text = (name: string) => fs.readFileSync(path.join(folder, name), 'utf8');
beforeEach(() => {
  folder = temporaryHome();
  make(folder, TARGETS);
});

test('the formula for Homebrew is Ruby, and names each file with its sum', async () => {
  const formula = text('graphcred.rb');
  const parser = await loadPrism();
  expect(parser(formula).errors).toEqual([]);
  expect(parser(formula.replace(/end\n$/, '')).errors).not.toEqual([]);
  const found = [...formula.matchAll(/url "(.*)"\n +sha256 "(.*)"/g)].map(([, url, sum]) => [url, sum]);
  expect(found).toEqual(
    TARGETS.slice(0, 4).map((target) => [`${RELEASE}/graphcred-${target}`, sumOf(target)]),
  );
  // Homebrew's audit refuses a longer one, and one that begins with an article.
  expect(formula).toMatch(/desc "(?!An? |The )[^"]{1,79}[^."]"/);
});

test('the manifest for Scoop has what its schema requires', () => {
  expect(JSON.parse(text('graphcred.json'))).toEqual({
    version,
    description: expect.any(String),
    homepage: REPOSITORY,
    license: 'Apache-2.0',
    architecture: {
      '64bit': {
        url: `${RELEASE}/graphcred-windows-x64.exe#/graphcred.exe`,
        hash: sumOf('windows-x64.exe'),
      },
    },
    bin: 'graphcred.exe',
  });
});

test('the manifests for winget have what their schemas require', () => {
  const same = { PackageIdentifier: `${OWNER}.graphcred`, PackageVersion: version, ManifestVersion: '1.9.0' };
  expect(parse(text(`${OWNER}.graphcred.yaml`))).toEqual({
    ...same,
    DefaultLocale: 'en-US',
    ManifestType: 'version',
  });
  expect(parse(text(`${OWNER}.graphcred.installer.yaml`))).toEqual({
    ...same,
    InstallerType: 'portable',
    Commands: ['graphcred'],
    Installers: [
      {
        Architecture: 'x64',
        InstallerUrl: `${RELEASE}/graphcred-windows-x64.exe`,
        InstallerSha256: sumOf('windows-x64.exe'),
      },
    ],
    ManifestType: 'installer',
  });
  expect(parse(text(`${OWNER}.graphcred.locale.en-US.yaml`))).toEqual({
    ...same,
    PackageLocale: 'en-US',
    Publisher: 'The graphcred authors',
    PackageName: 'graphcred',
    PackageUrl: REPOSITORY,
    License: 'Apache-2.0',
    ShortDescription: expect.stringMatching(/^.{3,256}$/),
    ManifestType: 'defaultLocale',
  });
});

test('a file without a sum makes no manifest', () => {
  expect(() => make(temporaryHome(), ['linux-x64'])).toThrow(/SHA256SUMS of .* has no line for graphcred-/);
});
