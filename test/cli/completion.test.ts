import { expect, test } from 'vitest';
import { writeEntry } from '../../src/store/records.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { stateOf } from '../helpers/home.js';
import { secretRecord } from '../helpers/store-options.js';

test('an alias that a shell could interpret is not offered, and no profile is offered without a config file', async () => {
  const home = temporaryHome();
  for (const alias of ['plain', '$(touch pwned)', '-x', 'a b'])
    writeEntry(stateOf(home), { record: secretRecord({ key: alias, info: { alias } }) });
  expect((await cli(home, ['__complete', 'secret', 'drop', ''])).stdout).toBe('plain\n');
  expect((await cli(home, ['__complete', 'token', 'get', '-p', ''])).stdout).toBe('');
});

test('completion offers the names of saved secrets only, and not of what has no name', async () => {
  const { run, home } = await bench();
  await run('token get');
  await run('login --save-password');
  expect((await cli(home, ['__complete', 'secret', 'drop', 'u'])).stdout).toBe('');
});
