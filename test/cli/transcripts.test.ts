// Plays the sessions of test/transcripts, and compares all that is printed and sent. After an intended change,
// `npx vitest run --project fast transcripts -u` writes them again; read the difference as a user would.
import { vi } from 'vitest';
import { testTranscripts } from '../transcripts/player/transcript.js';

vi.mock('inquirer', async () => ({ ...(await import('../helpers/person.js')).inquirer }));

testTranscripts('test/transcripts');
