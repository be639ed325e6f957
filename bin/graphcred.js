#!/usr/bin/env node
// Without a listener Node opens its debugger on this signal, and through it credentials could be read.
process.on('SIGUSR1', () => {});
require('../dist/cli/start.cjs').run();
