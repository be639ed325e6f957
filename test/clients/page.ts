import { KNOWN_FAILURES, knownFailures } from './known-failures.js';
import { OTHERS, type Program, PYTIGERGRAPH, SERVERS, WITH_TOKEN } from './programs.js';

/** Returns docs/dev/clients.md, made from the tables that the tests use. */
export function clientsPage(): string {
  const programs = [...PYTIGERGRAPH, ...OTHERS];
  return `# Programs that graphcred is tested with

\`npm run test:clients\` installs these programs from their registries, at these versions, and runs them against \`graphcred sandbox\`: each makes, lists and
deletes its own secrets and tokens, and each uses a token that graphcred minted, as [with other tools](../with-other-tools.md) says. With servers of 3.10 and
later pyTigerGraph (\`jwtToken\`) and the JDBC driver (\`token\`) also read with the JWT of an identity provider. It needs Python 3.11 or 3.12 with its
\`venv\` module, a JDK, Maven and curl. What it cannot reach it names and skips; with \`GRAPHCRED_TEST_CLIENTS=required\` that is a failure. \`.ci/run clients\` does
both on a bare machine: weekly, and before a release.

This page is written from the tables in \`test/clients/\`: \`npx vitest run --project fast test/unit/clients-page.test.ts --update\`.

"all" means that every step works with secrets and tokens of the program's own, "but 2" every step but those of entry 2 below. The last column says whether a
token that graphcred minted works.

${row(['program', ...SERVERS, "graphcred's token"])}
${row(['program', ...SERVERS, 'token'].map(() => '---'))}
${programs.map((program) => row([program.name, ...SERVERS.map((server) => marks(program, server)), withToken(program)])).join('\n')}
${NOT_RUN.map(([name, why]) => row([name, ...SERVERS.map(() => ''), `not run: ${why}`])).join('\n')}

## What does not work, and why

None of these is graphcred's. *program*: it does not do what its own documentation says. *version*: it was made for other servers than this one. The tests fail
when one of these begins to work; \`test/clients/known-failures.ts\` names the steps.

${row(['', 'what it does', 'whose', 'programs', 'servers'])}
${row(['---', '---', '---', '---', '---'])}
${KNOWN_FAILURES.map(({ programs: names, servers, whose, reason }, at) =>
  row([String(at + 1), reason, whose, names.join('; '), servers.join(', ')]),
).join('\n')}
`;
}

/** Programs that read the same servers and are not installed by the tests. */
const NOT_RUN = [
  [
    'Spark connector 0.2.8',
    "Maven's central repository has no `com.tigergraph:tigergraph-spark-connector`, with or without a Scala version; `test/contract/sandbox-clients.test.ts` replays its requests",
  ],
  [
    'tigergraph.js 1.0.2',
    'it knows `https://HOST:9000` alone. Led from there to a sandbox of 3.2.0, it minted and read; from 3.5 on its `GET /requesttoken` is refused',
  ],
  [
    'gsql_client (Java)',
    'it logs in at the GSQL server and uses no token; the same test replays its requests',
  ],
] as const;

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** Returns `all`, or the entries of the list that apply. */
function marks(program: Program, server: string): string {
  const numbers = KNOWN_FAILURES.flatMap(({ programs, servers, steps }, at) =>
    programs.includes(program.name) && servers.includes(server) && steps.some((step) => step !== WITH_TOKEN)
      ? [at + 1]
      : [],
  );
  return numbers.length === 0 ? 'all' : `but ${numbers.join(', ')}`;
}

function withToken(program: Program): string {
  if (typeof program.withToken !== 'string') return `no: ${program.withToken.none}`;
  const failing = SERVERS.filter((server) => knownFailures(program, server).includes(WITH_TOKEN));
  return failing.length === 0 ? 'yes' : `not on ${failing.join(', ')}`;
}
