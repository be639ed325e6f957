// The post step of action.yml.
import { revoke } from './revoke.js';
import { start } from './start.js';

// A second cancel must not leave the token behind; the time limit ends the step soon enough.
const ignore = () => {};
process.on('SIGINT', ignore).on('SIGTERM', ignore);

void start((runner) => revoke(runner, { timeoutMs: 10_000 }));
