// Reads, checks and selects the defects (mutants) that the tests must notice.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));

const folder = path.join(root, 'test/mutants');

/** Returns every entry of test/mutants/: `id`, `file`, `find`, `replace`, `test`, and `security` if the defect would be a security problem. */
export function readMutants() {
  return fs
    .readdirSync(folder)
    .sort()
    .flatMap((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')));
}

/** Returns the folder of src in which the defect is. */
export function roomOf({ file }) {
  return path.posix.dirname(file).replace(/^src\/?/, '') || 'src';
}

/** Returns the kind of test. A test of test/e2e runs the built command, so the defect must be built too. */
export function laneOf({ test }) {
  return test?.startsWith('test/e2e/') ? 'e2e' : 'fast';
}

/** Returns the errors in the list itself, one sentence each. */
export function listErrors(mutants) {
  const errors = [];
  const seen = new Set();
  for (const { id, file, find, replace, test } of mutants) {
    if (seen.has(id)) errors.push(`${id} is there twice`);
    seen.add(id);
    const source = path.join(root, file);
    const found = fs.existsSync(source) ? fs.readFileSync(source, 'utf8').split(find).length - 1 : undefined;
    if (found === undefined) errors.push(`${id}: there is no ${file}; name the file that the text is in now`);
    else if (found !== 1) errors.push(`${id}: its text is ${found} times in ${file}, and must be there once`);
    if (find === replace) errors.push(`${id}: it changes nothing`);
    if (test !== undefined && !fs.existsSync(path.join(root, test))) {
      errors.push(`${id}: there is no ${test}; name the test that notices it`);
    }
  }
  return errors;
}

/** Updates the file and the test of entries after files were moved: to the one file of src that has the text, and the one test of that name. */
export function fixPaths() {
  const filesIn = (folder) =>
    fs
      .readdirSync(path.join(root, folder), { recursive: true })
      .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
      .filter((name) => name.endsWith('.ts'));
  const sources = filesIn('src').map((file) => ({
    file,
    text: fs.readFileSync(path.join(root, file), 'utf8'),
  }));
  const tests = filesIn('test');
  for (const name of fs.readdirSync(folder)) {
    const list = path.join(folder, name);
    const entries = JSON.parse(fs.readFileSync(list, 'utf8')).map((entry) => {
      const having = sources.filter(({ text }) => text.split(entry.find).length === 2);
      const named = tests.filter((test) => path.basename(test) === path.basename(entry.test));
      const stays = having.some(({ file }) => file === entry.file) || having.length !== 1;
      return {
        ...entry,
        file: stays ? entry.file : having[0].file,
        test: tests.includes(entry.test) || named.length !== 1 ? entry.test : named[0],
      };
    });
    fs.writeFileSync(list, `${JSON.stringify(entries, null, 2)}\n`);
  }
}

/** Returns the defects with a name of `only` or in a room of `room`. With `random` it returns this many of them, the same ones for the same seed. */
export function choose(mutants, { only, room, random, seed }) {
  const named = mutants.filter(
    (mutant) => (only?.includes(mutant.id) ?? true) && (room?.includes(roomOf(mutant)) ?? true),
  );
  if (random === undefined) return named;
  const drawn = named.map((mutant) => ({ mutant, rank: hash(`${seed} ${mutant.id}`) }));
  drawn.sort((a, b) => a.rank - b.rank);
  return drawn.slice(0, Number(random)).map(({ mutant }) => mutant);
}

/** Computes an FNV-1a hash with a final mix. It only gives an order, so it need not be secure. */
function hash(text) {
  let state = 0x811c9dc5;
  for (const character of text) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  return (state ^ (state >>> 12)) >>> 0;
}
