// Plays the transcripts of test/transcripts/sandbox: what the sandbox answers to requests of any program.
import { testTranscripts } from '../transcripts/player/transcript.js';

testTranscripts('test/transcripts/sandbox');
