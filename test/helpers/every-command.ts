import { COMMANDS } from '../../src/cli/args/catalogue.js';

/** The words after each command in tests that run all of them. One without a row is called with its required arguments. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'secret create': ['fresh', 'kept --save'],
  'secret drop': ['fresh old --yes'],
  'secret rotate': ['ci'],
  'secret prune': ['--dry-run', '--yes'],
  'token get': ['', '--fresh', '--store none', '--wait 1'],
  'token refresh': ['', '--token-stdin'],
  'token delete': ['', '--all', '--token-stdin', '--skip-missing'],
  'token check': ['', '--token-stdin'],
  exec: ['-- true', '--revoke -- true'],
  proxy: ['-- true'],
  api: ['/echo', '/gsql/v1/version --service', '/echo -X POST --data {}'],
  login: ['', '-p fresh'],
  logout: ['', '--revoke'],
  status: ['', '--all-profiles', '--offline'],
  'profile use': ['fresh'],
  'profile remove': ['fresh --yes'],
  completion: ['bash'],
  sandbox: ['-q --rest-port 0 --gsql-port 0 -- true'],
};

/** Returns the command lines, the plainest of each command first. */
export const EVERY_COMMAND: readonly { readonly path: string; readonly lines: readonly string[] }[] =
  COMMANDS.map(({ path, argument = '' }) => {
    const [, required = ''] = /^<(\w+)/.exec(argument) ?? [];
    return { path, lines: (WORDS[path] ?? [required]).map((words) => `${path} ${words}`.trim()) };
  });
