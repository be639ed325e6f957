// Who may import whom (docs/dev/architecture.md). `npm run rooms` checks it.

/** Each room with the rooms and single files that it may import. The longest matching name is the room of a file. */
const ROOMS = {
  cli: ['app', 'auth', 'run', 'store', 'config', 'files', 'core', 'sandbox'],
  app: ['auth', 'run', 'store', 'config', 'files', 'core'],
  auth: ['run', 'store', 'config', 'files', 'core'],
  run: ['store', 'config', 'files', 'core'],
  store: ['files', 'core/time', 'core/errors', 'core/sensitive', 'core/endpoints'],
  config: ['files', 'core/endpoints', 'core/errors', 'core/sensitive'],
  files: ['core/errors', 'core/sensitive'],
  core: [],
  sandbox: [],
  action: ['cli/github', 'core/endpoints', 'core/errors', 'core/protocol/version'],
};

/** Each package with the only files that may import it. */
const PACKAGES = {
  commander: 'cli/args/',
  chalk: 'cli/',
  inquirer: 'cli/output/',
  keytar: 'store/keychain/',
  cosmiconfig: 'config/parse',
  ofetch: 'core/http/',
  ioredis: 'store/redis/',
  'openid-client': 'auth/oidc/',
};

const rule = (name, from, to) => ({ name, severity: 'error', from, to });

module.exports = {
  forbidden: [
    rule('no-circle', {}, { circular: true }),
    rule('no-orphan', { orphan: true, pathNot: '\\.d\\.ts$' }, {}),
    rule('commands-are-strangers', { path: '^src/cli/commands/' }, { path: '^src/cli/(commands|args)/' }),
    rule(
      'core-without-node',
      { path: '^src/core/', pathNot: '^src/core/http/' },
      { dependencyTypes: ['core'] },
    ),
    rule(
      'core-without-files',
      { path: '^src/core/' },
      { path: '^(node:)?(fs|fs/promises|child_process|readline)$' },
    ),
    ...Object.entries(ROOMS).map(([room, may]) =>
      rule(
        `${room}-imports`,
        { path: `^src/${room}/` },
        { path: '^src/', pathNot: [room, ...may].map((one) => `^src/${one}[/.]`) },
      ),
    ),
    rule('library-is-core', { path: '^src/index' }, { path: '^src/', pathNot: '^src/core/' }),
    ...Object.entries(PACKAGES).map(([name, where]) =>
      rule(
        `${name}-is-for-${where}`,
        { path: '^src/', pathNot: `^src/${where}` },
        { path: `node_modules/${name}/` },
      ),
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
