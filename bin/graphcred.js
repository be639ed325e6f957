#!/usr/bin/env node
require('../dist/cli/start.cjs').run();
