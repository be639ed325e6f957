#!/usr/bin/env node
require('../dist/cli/hot.cjs').run();
