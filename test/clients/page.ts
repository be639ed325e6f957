import { KNOWN_FAILURES, knownFailures } from './known-failures.js';
import { OTHERS, type Program, PYTIGERGRAPH, SERVERS, WITH_TOKEN } from './programs.js';

/** Returns docs/dev/clients.md, made from the tables that the tests use. */
export function clientsPage(): string {
  const programs = [...PYTIGERGRAPH, ...OTHERS];
  return `# Programs that graphcred is tested with

\`npm run test:clients\` installs these programs from their registries, at these versions, and runs them against \`graphcred sandbox\`: each makes, lists and
deletes its own secrets and tokens, and each uses a token that graphcred minted, as [with other tools](../with-other-tools.md) says. It needs Python 3.11 or
3.12 with its \`venv\` module, a JDK, Maven and curl. What it cannot reach it names and skips; with \`GRAPHCRED_TEST_CLIENTS=required\` that is a failure.

This page is written from the tables in \`test/clients/\`: \`npx vitest run --project fast test/unit/clients-page.test.ts --update\`.

## Secrets and tokens of its own

"all" means that every step works, "but 2" every step but those of entry 2 in the list below.

${table(programs, (program, server) => marks(program, server, (step) => step !== WITH_TOKEN))}

## A token that graphcred minted

${table(programs, (program, server) =>
  typeof program.withToken === 'string'
    ? marks(program, server, (step) => step === WITH_TOKEN)
        .replace('all', 'yes')
        .replace('but', 'no:')
    : 'no',
)}

${programs
  .flatMap(({ name, withToken }) => (typeof withToken === 'string' ? [] : [`${name}: ${withToken.none}.`]))
  .join('\n')}

## What does not work, and why

The fault is in the program or in its agreement with the server version, not in graphcred. The tests fail when one of these begins to work.

${KNOWN_FAILURES.map(
  ({ programs: names, servers, steps, reason }, at) =>
    `${at + 1}. ${reason}\n   Programs: ${names.join('; ')}. Servers: ${servers.join(', ')}. Steps: ${steps.join(', ')}.`,
).join('\n')}

## Not run

* The Spark connector (\`com.tigergraph:tigergraph-spark-connector\`): Maven's central repository does not hand it out under the names in its documentation. Its
  requests are replayed in \`test/contract/sandbox-clients.test.ts\`.
`;
}

function table(programs: readonly Program[], cell: (program: Program, server: string) => string): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(['program', ...SERVERS]),
    row(['---', ...SERVERS.map(() => '---')]),
    ...programs.map((program) => row([program.name, ...SERVERS.map((server) => cell(program, server))])),
  ].join('\n');
}

/** Returns `all`, or the entries of the list that apply. */
function marks(program: Program, server: string, counts: (step: string) => boolean): string {
  if (!knownFailures(program, server).some(counts)) return 'all';
  const numbers = KNOWN_FAILURES.flatMap(({ programs, servers, steps }, at) =>
    programs.includes(program.name) && servers.includes(server) && steps.some(counts) ? [at + 1] : [],
  );
  return `but ${numbers.join(', ')}`;
}
