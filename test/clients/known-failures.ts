import { OTHERS, type Program, PYTIGERGRAPH, SERVERS, WITH_TOKEN } from './programs.js';

/** Steps that fail because of a bug in the program. A test fails when one of them works. */
export interface KnownFailure {
  readonly programs: readonly string[];
  readonly servers: readonly string[];
  readonly steps: readonly string[];
  /** `version`: it was made for other servers. `program`: it has a bug. */
  readonly whose: 'program' | 'version';
  readonly reason: string;
}

const SYNC = ['pyTigerGraph 1.8.4', 'pyTigerGraph 1.9.1', 'pyTigerGraph 2.0.2', 'pyTigerGraph 2.0.5'];
const ASYNC = SYNC.map((name) => `${name}, async`);
const of = (version: string) => [`pyTigerGraph ${version}`, `pyTigerGraph ${version}, async`];
const ON_3 = ['3.2.0', '3.9.3', '3.10.1'];
const SINCE_3_5 = ['3.9.3', '3.10.1'];
const ON_4 = ['4.1.2', '4.2.0'];
const TOKEN_STEPS = [
  'mint with a secret',
  'read vertices with the token',
  "find the server's version",
  'mint with a password',
  'refresh a token',
  'delete a token',
];

export const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    programs: ['pyTigerGraph 1.6.5'],
    servers: ON_4,
    steps: [
      'create a secret',
      'create a secret without an alias',
      'list secrets',
      'mint with a secret',
      'read vertices with the token',
      'go on when port 9000 is closed',
      "find the server's version",
      'list secrets after a mint',
      'mint with a password',
      'log in with a secret',
      'read vertices with a JWT',
      'list secrets with a JWT',
      'delete a token',
      'see that a token is unknown',
      'drop a secret',
      'see that a password is wrong',
      WITH_TOKEN,
    ],
    whose: 'version',
    reason:
      'It was made for 3.x: on 4.x it asks for `/requesttoken`, `/gsqlserver/` and a REST server without `/restpp`.',
  },
  {
    programs: ['pyTigerGraph 1.6.5'],
    servers: ['3.2.0'],
    steps: ['mint with a password'],
    whose: 'program',
    reason: 'Without a secret it sends the word `None` as one.',
  },
  {
    programs: ['pyTigerGraph 1.6.5'],
    servers: ['3.10.1'],
    steps: ['read vertices with a JWT'],
    whose: 'version',
    reason: 'It asks the GSQL server about a JWT first, which takes none before 4.1.2.',
  },
  {
    programs: ['pyTigerGraph 1.6.5'],
    servers: SINCE_3_5,
    steps: ['see that a token is unknown'],
    whose: 'program',
    reason: 'It looks for a code in that answer, which has none.',
  },
  {
    programs: SYNC,
    servers: ['3.2.0'],
    steps: [
      ...TOKEN_STEPS,
      'see that a token is unknown',
      'see that a secret is invalid',
      'see that a password is wrong',
    ],
    whose: 'program',
    reason: 'For servers before 3.5 it uses a variable that it has not set, and no token request is sent.',
  },
  {
    programs: SYNC.filter((name) => !name.includes('1.8.4')),
    servers: ['3.2.0'],
    steps: ['drop a secret', 'see that an alias is unknown'],
    whose: 'version',
    reason:
      'It asks for the version of the server before it drops a secret, with a token that it cannot mint on 3.2.',
  },
  {
    programs: ASYNC,
    servers: ['3.2.0'],
    steps: TOKEN_STEPS,
    whose: 'version',
    reason: 'It sends JSON to servers before 3.5 too, which read the query string.',
  },
  {
    programs: ['pyTigerGraph 2.0.2, async', 'pyTigerGraph 2.0.5, async'],
    servers: ['3.2.0'],
    steps: ['drop a secret'],
    whose: 'version',
    reason:
      'It asks for the version of the server before it drops a secret, with a token that it cannot mint on 3.2.',
  },
  {
    programs: of('1.8.4'),
    servers: SINCE_3_5,
    steps: ['mint with a password'],
    whose: 'program',
    reason: 'It leaves out the graph, which 3.x wants with a password.',
  },
  {
    programs: ['pyTigerGraph 1.9.1', ...of('2.0.2'), ...of('2.0.5')],
    servers: SINCE_3_5,
    steps: ['drop a secret'],
    whose: 'version',
    reason:
      'It mints a token for all graphs first, to ask for the version of the server; 3.x wants one graph.',
  },
  {
    programs: ['pyTigerGraph 1.8.4, async'],
    servers: SINCE_3_5,
    steps: ['refresh a token'],
    whose: 'program',
    reason: 'It calls one of its own functions without a required argument.',
  },
  {
    programs: ['pyTigerGraph 1.9.1, async'],
    servers: SERVERS,
    steps: ['refresh a token', 'drop a secret', 'see that an alias is unknown'],
    whose: 'program',
    reason: 'It uses a class that it does not import.',
  },
  {
    programs: ['pyTigerGraph 1.9.1'],
    servers: ON_4,
    steps: ['drop a secret', 'see that an alias is unknown'],
    whose: 'program',
    reason: 'It calls a function of its own with an argument that the function does not take.',
  },
  {
    programs: [...of('1.8.4'), ...of('1.9.1')],
    servers: ON_4,
    steps: ['go on when port 9000 is closed'],
    whose: 'program',
    reason:
      'It moves to the GSQL port after an HTTP error, not after a refused connection. Give it that port for both.',
  },
  {
    programs: of('2.0.2'),
    servers: [...SINCE_3_5, ...ON_4],
    steps: ['read vertices with the token', "find the server's version"],
    whose: 'program',
    reason:
      'It goes on sending user name and password after it has minted a token. A token given as `apiToken` is sent.',
  },
  {
    programs: of('2.0.2'),
    servers: SINCE_3_5,
    steps: ['refresh a token'],
    whose: 'program',
    reason: 'The same: it needs the version of the server for that.',
  },
  {
    programs: of('2.0.2'),
    servers: ON_4,
    steps: ['go on when port 9000 is closed', 'drop a secret'],
    whose: 'program',
    reason: 'The same: it needs the version of the server for that, or reads after a mint.',
  },
  {
    programs: of('2.0.5'),
    servers: SINCE_3_5,
    steps: ['list secrets after a mint'],
    whose: 'version',
    reason:
      'Once it has a token it sends that to the GSQL server too, which takes none on 3.x. Use a second connection.',
  },
  {
    programs: ['tigergraph-mcp 1.0.4'],
    servers: ON_3,
    steps: ['read vertices with a password'],
    whose: 'version',
    reason:
      'It mints through pyTigerGraph 2.0.5, for all graphs, which 3.x cannot do with a password. It works with a token.',
  },
  {
    programs: ['tigergraph-mcp 1.0.4'],
    servers: ['3.2.0'],
    steps: ['read vertices with a secret'],
    whose: 'version',
    reason: 'It logs in with a secret, which servers take from 3.6.2 on.',
  },
  {
    programs: ['tigergraphx 0.2.15'],
    servers: ON_3,
    steps: [
      'log in',
      'ping the server',
      'create a secret',
      'mint with a secret',
      'log in with a secret',
      'log in with a token',
      'delete a token',
      'drop a secret',
      'see that a secret is invalid',
      WITH_TOKEN,
    ],
    whose: 'version',
    reason: 'It is made for 4.x.',
  },
  {
    programs: ['tigergraphx 0.2.15'],
    servers: ON_4,
    steps: ['ping the server'],
    whose: 'program',
    reason: 'It takes the text `"false"` that `/api/ping` answers for an error.',
  },
  {
    programs: ['pyTigerDriver 1.0.15'],
    servers: ON_3,
    steps: ['list secrets'],
    whose: 'program',
    reason:
      'Its `get_secrets` chooses a graph and forgets it before it asks. A statement of one’s own works.',
  },
  {
    programs: ['pyTigerDriver 1.0.15'],
    servers: ON_4,
    steps: [
      'log in',
      'create a secret',
      'list secrets',
      'list secrets by a statement',
      'drop a secret',
      'see that a password is wrong',
    ],
    whose: 'version',
    reason: 'It was made for 3.x, and asks for `/gsqlserver/`.',
  },
  {
    programs: ['LangChain (langchain-community 0.4.2)'],
    servers: ON_3,
    steps: ['read the schema with a password', 'read the schema with a secret', WITH_TOKEN],
    whose: 'version',
    reason:
      'It asks for the schema through pyTigerGraph 2.0.5, with a token, which the GSQL server takes from 4.1 on.',
  },
  {
    programs: ['graflo 1.24.0'],
    servers: ON_3,
    steps: ['mint with a secret', 'read vertices with the token', 'list secrets'],
    whose: 'version',
    reason: 'It is made for 4.x.',
  },
];

/** Returns the steps that are known to fail for this program on this server. */
export function knownFailures({ name }: Program, server: string): string[] {
  return KNOWN_FAILURES.filter(
    ({ programs, servers }) => programs.includes(name) && servers.includes(server),
  ).flatMap(({ steps }) => steps);
}

/** Returns the names in the list that match no program or step. */
export function misnamed(): string[] {
  const programs = [...PYTIGERGRAPH, ...OTHERS].map(({ name }) => name);
  return KNOWN_FAILURES.flatMap(({ programs: named, servers }) => [
    ...named.filter((name) => !programs.includes(name)),
    ...servers.filter((server) => !SERVERS.includes(server)),
  ]);
}
