// Runs the post step of action.yml.
import { revoke } from './revoke.js';
import { start } from './start.js';

// A second cancellation must not stop the step before the token is revoked; its time limit ends it soon enough.
const ignore = () => {};
process.on('SIGINT', ignore).on('SIGTERM', ignore);

void start((runner) => revoke(runner, { timeoutMs: 10_000 }));
