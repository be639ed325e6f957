// Says of every code block of the pages which test runs it, or why none does. A block belongs to the longest entry with
// which its name begins: page, heading, language and first line.

/** The test files that run blocks. Each of them ends with a test that it has used all its blocks. */
export const RUN_BY: Readonly<Record<string, readonly string[]>> = {
  'test/cli/api.test.ts': ['docs/with-other-tools.md / A .gsql file'],
  'test/cli/leak.test.ts': ['docs/leak.md'],
  'test/cli/library-page.test.ts': ['docs/library.md'],
  'test/cli/proxy.test.ts': ['docs/proxy.md'],
  'test/clients/clients.test.ts': ['docs/proxy.md / pyTigerGraph and JDBC'],
  'test/e2e/action-jobs.test.ts': ['docs/ci/github-actions.md / With the action'],
  'test/e2e/conformance-command.test.ts': [
    'docs/dev/fidelity.md / Ask a real server / sh: npm run --silent conformance',
  ],
  'test/pages/first-steps.test.ts': ['README.md', 'docs/first-steps.md', 'docs/cloud.md', 'docs/ci/shell.md'],
  'test/e2e/gitlab-component.test.ts': ['docs/ci/gitlab.md / With the component'],
  'test/pages/pages.test.ts': [
    'docs/fleet.md / Rights / text',
    'docs/dev/fidelity.md',
    'docs/ci/kubernetes.md',
    'docs/dev/sandbox.md',
  ],
  'test/pages/recipes.test.ts': [
    'docs/ci/github-actions.md',
    'docs/ci/gitlab.md',
    'docs/ci/jenkins.md',
    'docs/with-other-tools.md',
  ],
  'test/windows/recipes.test.ts': ['docs/windows.md'],
};

/** The blocks that no test runs, each with the reason. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  'README.md / Install / sh: npm ci':
    'it installs packages and the command, and runs all the tests; the next test looks up its scripts',
  'CONTRIBUTING.md / Set up':
    'it installs packages and runs all the tests; the next test looks up its scripts',
  'docs/dev/architecture.md': 'a picture',
  'docs/identity.md / Log in as a person':
    'it needs a person; test/cli/identity-login.test.ts logs in at a provider',
  'docs/identity.md / For a job': 'it needs a cluster; test/cli/identity-job.test.ts reads such a file',
  'docs/ci/github-actions.md / Without a stored secret':
    'it needs a runner of GitHub; test/cli/identity-job.test.ts runs the action with these inputs',
  'docs/ci/gitlab.md / Without a stored secret':
    'it needs the token of a GitLab server; test/cli/identity-job.test.ts reads such a file',
  'docs/identity.md / For the operator': 'it sets up a real server',
  'docs/fleet.md':
    'it needs a Redis server at an address of its own; test/e2e/store-redis.test.ts uses these settings',
  'docs/dev/performance.md': 'it measures for minutes; the next test looks up its scripts',
  'docs/standalone.md': 'it fetches a runtime of 50 MB; npm run test:standalone runs it',
  'docs/storage.md': 'it installs packages of the system; test/helpers/keyring.ts starts such a keychain',
};

const FILE_OF = new Map([
  ...Object.entries(RUN_BY).flatMap(([file, entries]) => entries.map((entry) => [entry, file] as const)),
  ...Object.keys(NOT_RUN).map((entry) => [entry, undefined] as const),
]);

/** Returns the entry to which a block belongs, and the file of tests that runs it, if one does. */
export function entryOf(block: string): { entry: string; file: string | undefined } | undefined {
  const [entry] = [...FILE_OF.keys()]
    .filter((one) => block.startsWith(one))
    .sort((a, b) => b.length - a.length);
  return entry === undefined ? undefined : { entry, file: FILE_OF.get(entry) };
}
