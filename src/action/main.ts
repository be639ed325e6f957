// Runs the main step of action.yml.
import { mint } from './request-token.js';
import { start } from './start.js';

/** The runner sends SIGINT when a job is cancelled, SIGTERM 7.5 s later, SIGKILL after 2.5 s more. */
const GRACE_MS = 6000;

const stop = new AbortController();
// A request that is under way may be making a token: with its answer the post step can revoke it.
const finishSoon = () => void setTimeout(() => stop.abort(), GRACE_MS).unref();
process.on('SIGINT', finishSoon).on('SIGTERM', finishSoon);

void start((runner) => mint(runner, { timeoutMs: 30_000, signal: stop.signal }));
