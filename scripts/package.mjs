// Packs the standalone executable for this machine's architecture (run npm run build:standalone first):
// npm run package      makes dist-standalone/graphcred_VERSION_ARCH.deb, and dist-standalone/container, a folder to build
// an image from: docker build dist-standalone/container
// --out FOLDER         uses another folder than dist-standalone, which holds the executable
// Needs dpkg-deb. For one commit and executable, the package is always the same, byte for byte.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: { out: { type: 'string', default: path.join(root, 'dist-standalone') } },
});
const out = path.resolve(values.out);
const executable = path.join(out, `graphcred-linux-${process.arch}`);
const { version, description } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch];
/** All files of the package get the time of the commit. */
const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: graphcred

Files: *
Copyright: 2026 the graphcred authors
License: Apache-2.0
 On Debian systems the full text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
Comment: The executable holds the runtime bun (MIT, with JavaScriptCore under the LGPL-2;
 https://bun.com) and packages of npm, which THIRD-PARTY-NOTICES beside this file lists with
 their licences.
`;

/**
 * The warnings of lintian that do not apply here. The executable must not be stripped, because the program is appended to the runtime, and
 * the runtime is linked as its makers link it.
 */
const OVERRIDES = `graphcred: bogus-mail-host *
graphcred: hardening-no-pie *
graphcred: hardening-no-relro *
graphcred: no-changelog *
graphcred: unstripped-binary-or-object *
`;

if (!fs.existsSync(executable)) throw new Error(`There is no ${executable}; run: npm run build:standalone`);

const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-deb-'));
try {
  fs.chmodSync(stage, 0o755);
  fillPackage();
  const deb = path.join(out, `graphcred_${version.replace('-', '~')}_${architecture}.deb`);
  // gzip is used because every dpkg reads it; xz would take minutes and save only a tenth.
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', stage, deb], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
  });
  console.log(`${path.relative(process.cwd(), deb)}: ${Math.round(fs.statSync(deb).size / 1e6)} MB`);
} finally {
  fs.rmSync(stage, { recursive: true });
}
const container = path.join(out, 'container');
fs.rmSync(container, { recursive: true, force: true });
fs.mkdirSync(container);
fs.copyFileSync(path.join(root, 'docs/container/Dockerfile'), path.join(container, 'Dockerfile'));
fs.copyFileSync(executable, path.join(container, 'graphcred'));
console.log(`${path.relative(process.cwd(), container)}: docker build`);

function fillPackage() {
  put('usr/bin/graphcred', fs.readFileSync(executable), 0o755);
  const completion = (shell) => execFileSync(executable, ['completion', shell]);
  put('usr/share/bash-completion/completions/graphcred', completion('bash'));
  put('usr/share/zsh/vendor-completions/_graphcred', completion('zsh'));
  put('usr/share/fish/vendor_completions.d/graphcred.fish', completion('fish'));
  const page = path.join(root, 'docs/man/graphcred.1');
  put('usr/share/man/man1/graphcred.1.gz', zipped(page));
  put('usr/share/doc/graphcred/CHANGELOG.md.gz', zipped(path.join(root, 'CHANGELOG.md')));
  put('usr/share/doc/graphcred/copyright', COPYRIGHT);
  put('usr/share/doc/graphcred/THIRD-PARTY-NOTICES', fs.readFileSync(path.join(out, 'THIRD-PARTY-NOTICES')));
  put('usr/share/lintian/overrides/graphcred', OVERRIDES);
  const size = execFileSync('du', ['-sk', '--apparent-size', 'usr'], { cwd: stage, encoding: 'utf8' });
  put('DEBIAN/control', control(Number.parseInt(size, 10)));
  const files = execFileSync('find', ['usr', '-type', 'f'], { cwd: stage, encoding: 'utf8' });
  const sums = execFileSync('md5sum', files.trim().split('\n').sort(), { cwd: stage });
  put('DEBIAN/md5sums', sums);
}

function put(name, content, mode = 0o644) {
  const file = path.join(stage, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  for (let dir = path.dirname(file); dir !== stage; dir = path.dirname(dir)) fs.chmodSync(dir, 0o755);
  fs.writeFileSync(file, content);
  fs.chmodSync(file, mode);
}

function zipped(file) {
  return gzipSync(fs.readFileSync(file), { level: 9 });
}

function control(kilobytes) {
  return `Package: graphcred
Version: ${version.replace('-', '~')}
Architecture: ${architecture}
Maintainer: The graphcred authors <graphcred@localhost>
Installed-Size: ${kilobytes}
Section: database
Priority: optional
Depends: libc6 (>= 2.17)
Recommends: libsecret-1-0, libstdc++6
Suggests: gnome-keyring
Description: credentials of a TigerGraph database on the command line
 ${description.replace(/(.{1,76})(?: |$)/g, '$1\n ').trim()}.
 .
 This is the executable of its own kind, which needs no Node. Tokens and secrets
 are kept in the keychain of the desktop, for which libsecret is needed, or
 in an encrypted file.
`;
}
