// Runs the main step of action.yml.
import { mint } from './request-token.js';
import { start, stopAfterGrace } from './start.js';

const signal = stopAfterGrace(process);

void start((runner) => mint(runner, { timeoutMs: 30_000, signal }));
