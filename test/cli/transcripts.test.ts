// Plays the sessions of test/transcripts, and compares all that is printed and sent. After an intended change,
// `npx vitest run --project fast test/cli/transcripts.test.ts -u` writes them again; read the difference as a user would.
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { play } from '../helpers/transcript.js';

vi.mock('inquirer', async () => ({ ...(await import('../helpers/transcript.js')).inquirer }));

// Each question listens for the end of the process.
afterEach(() => void process.removeAllListeners('beforeExit'));

const FOLDER = path.resolve('test/transcripts');

const windows = process.platform === 'win32';
if (windows) console.log('the sessions are skipped: paths and modes are written as on Linux and macOS');

test.skipIf(windows).each(fs.readdirSync(FOLDER).map((file) => path.basename(file, '.txt')))(
  'the session "%s" prints and sends what its transcript holds',
  async (name) => {
    const file = path.join(FOLDER, `${name}.txt`);
    await expect(await play(fs.readFileSync(file, 'utf8'))).toMatchFileSnapshot(file);
  },
);
