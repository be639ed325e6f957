import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { install } from './install.js';
import { OTHERS, PYTIGERGRAPH } from './programs.js';

test('a Python program is skipped if its registry does not answer', async () => {
  const home = temporaryHome();
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CACHE_HOME: path.join(home, 'cache'),
    PIP_INDEX_URL: 'http://127.0.0.1:9/simple',
    PIP_NO_CACHE_DIR: '1',
  };
  expect(await install(defined(PYTIGERGRAPH[0]), env)).toEqual({ skip: 'its registry is out of reach' });
}, 300_000);

test('a program is skipped by name if its runtime is not installed', async () => {
  const skips = OTHERS.map((program) => install(program, { PATH: '/nowhere' }));
  expect(await Promise.all(skips)).toEqual([
    ...Array(5).fill({ skip: 'not installed: python3' }),
    ...Array(2).fill({ skip: 'not installed: mvn, java, javac' }),
    { skip: 'not installed: curl' },
  ]);
});

test('a version that the registry does not have is a failure and not a skip', async () => {
  const home = temporaryHome();
  const env = { PATH: process.env.PATH, HOME: home, XDG_CACHE_HOME: path.join(home, 'cache') };
  const program = { ...defined(PYTIGERGRAPH[0]), requirements: ['pyTigerGraph==99.0.0'] };
  await expect(install(program, env)).rejects.toThrow('cannot be installed');
}, 300_000);
