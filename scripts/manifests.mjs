// Fills in the manifests of templates/manifests, by which Homebrew, Scoop and winget install the executables of a release:
// node scripts/manifests.mjs [FOLDER]   FOLDER, by default dist-standalone, has SHA256SUMS and gets the manifests
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const out = path.resolve(process.argv[2] ?? path.join(root, 'dist-standalone'));
const { version, description, license, homepage } = JSON.parse(
  fs.readFileSync(path.join(root, 'package.json'), 'utf8'),
);
const repository = homepage.replace(/#.*$/, '');
const [, owner] = /github\.com\/([^/]+)\//.exec(repository);
const lines = fs.readFileSync(path.join(out, 'SHA256SUMS'), 'utf8').trim().split('\n');
const sums = new Map(lines.map((line) => line.split('  ').reverse()));

const values = { version, description, license, repository, owner };
const templates = path.join(root, 'templates/manifests');
for (const name of fs.readdirSync(templates)) {
  const text = fs
    .readFileSync(path.join(templates, name), 'utf8')
    .replace(/\{\{(\w+)(?: ([\w.-]+))?\}\}/g, (_, what, file) => {
      if (file === undefined) return values[what];
      if (!sums.has(file))
        throw new Error(`SHA256SUMS of ${out} has no line for ${file}, which ${name} names.`);
      return what === 'sha256' ? sums.get(file) : `${repository}/releases/download/v${version}/${file}`;
    });
  // winget takes the name of a file from the name of the package.
  fs.writeFileSync(path.join(out, name.endsWith('.yaml') ? `${owner}.${name}` : name), text);
}
