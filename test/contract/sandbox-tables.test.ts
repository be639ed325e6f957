import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TEXTS } from '../../src/sandbox/texts.js';
import { demo, play, type Row, wellKnown } from './sandbox-raw.js';

/** Every file in sandbox-tables/ lists the answers of the servers it names. Each row is tried with a new sandbox. */
interface Table {
  readonly about: string;
  readonly versions: readonly string[];
  /** The calls that rows name in `after`, and that are made first. */
  readonly steps: Readonly<Record<string, Row>>;
  readonly rows: readonly Row[];
}

const FOLDER = new URL('sandbox-tables/', import.meta.url);
const STATUSES = [200, 400, 401, 403, 404, 500];

async function playAlone(table: Table, serverVersion: string, row: Row): Promise<void> {
  const sandbox = await demo({ serverVersion, ...row.options });
  onTestFinished(() => sandbox.close());
  const memory = wellKnown();
  const prepare = async (name: string): Promise<void> => {
    const step = table.steps[name];
    if (!step) throw new Error(`There is no step ${name} for: ${row.what}`);
    for (const earlier of step.after ?? []) if (!memory.has(earlier)) await prepare(earlier);
    await play(sandbox, step, memory);
  };
  for (const name of row.after ?? []) await prepare(name);
  await play(sandbox, row, memory);
}

for (const file of readdirSync(FOLDER)) {
  const table = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Table;
  describe(`${file}: ${table.about}`, () => {
    for (const version of table.versions) {
      for (const row of table.rows) {
        const title = `${version} [${row.evidence}] ${row.request.split('?')[0]}: ${row.what}`;
        it(title, () => playAlone(table, version, row));

        if (row.text === undefined) continue;
        const { text } = row;
        it(`${title}, with every status it may come with`, async () => {
          expect(Object.keys(TEXTS)).toContain(text);
          for (const status of STATUSES) {
            const options = { ...row.options, texts: { ...row.options?.texts, [text]: status } };
            await playAlone(table, version, { ...row, options, status });
          }
        });
      }
    }
  });
}
