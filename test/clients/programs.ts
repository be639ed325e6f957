// Programs by other authors that use the servers whose credentials graphcred manages.

/** The servers on which each program is tested. */
export const SERVERS = ['3.2.0', '3.9.3', '3.10.1', '4.1.2', '4.2.0'];

/** The one step in which the program uses a token that graphcred minted. */
export const WITH_TOKEN = 'use a token from graphcred';

/** One thing that a program tried, and the error if it failed. */
export interface Step {
  readonly step: string;
  readonly error: string | null;
}

interface Named {
  readonly name: string;
  /** The block of docs/with-other-tools.md that shows how it uses a token from graphcred, with lines of its own after it. */
  readonly withToken: string | { readonly none: string };
  /** Whether it takes no token at all, and so nothing of the door of `graphcred proxy`. */
  readonly mintsItself?: true;
  readonly afterBlock?: string;
  /** Whether it runs the block with the async connection, as the page says below it. */
  readonly async?: true;
}

export interface PythonProgram extends Named {
  readonly language: 'python';
  readonly requirements: readonly string[];
  /** Whether to install nothing but the requirements. */
  readonly only?: true;
  /** The script below test/clients/python, with its arguments. */
  readonly script: readonly [string, ...string[]];
}

export interface JavaProgram extends Named {
  readonly language: 'java';
  readonly version: string;
}

export interface ShellProgram extends Named {
  readonly language: 'shell';
}

export type Program = PythonProgram | JavaProgram | ShellProgram;

const pyTigerGraph = (version: string): PythonProgram => ({
  name: `pyTigerGraph ${version}`,
  language: 'python',
  requirements: [`pyTigerGraph==${version}`],
  script: ['pytigergraph.py'],
  withToken: 'load.py',
});

const asyncPyTigerGraph = (version: string): PythonProgram => ({
  ...pyTigerGraph(version),
  name: `pyTigerGraph ${version}, async`,
  script: ['pytigergraph.py', 'async'],
  async: true,
});

export const PYTIGERGRAPH: readonly Program[] = [
  pyTigerGraph('1.6.5'),
  pyTigerGraph('1.8.4'),
  asyncPyTigerGraph('1.8.4'),
  pyTigerGraph('1.9.1'),
  asyncPyTigerGraph('1.9.1'),
  pyTigerGraph('2.0.2'),
  asyncPyTigerGraph('2.0.2'),
  pyTigerGraph('2.0.5'),
  asyncPyTigerGraph('2.0.5'),
];

const jdbc = (version: string): JavaProgram => ({
  name: `TigerGraph JDBC driver ${version}`,
  language: 'java',
  version,
  withToken: 'JDBC: java',
});

export const OTHERS: readonly Program[] = [
  {
    name: 'tigergraph-mcp 1.0.4',
    language: 'python',
    requirements: ['tigergraph-mcp==1.0.4', 'pyTigerGraph==2.0.5'],
    script: ['tigergraph_mcp_client.py'],
    withToken: 'The MCP server, and everything else that reads `.env`: sh',
  },
  {
    name: 'tigergraphx 0.2.15',
    language: 'python',
    // The packages for language models take half a gigabyte and are not needed here.
    only: true,
    requirements: [
      'tigergraphx==0.2.15',
      ...['pandas', 'numpy', 'python-dateutil', 'six', 'pytz', 'tzdata', 'tenacity', 'PyYAML'],
      ...['pydantic', 'pydantic_core', 'pydantic-settings', 'python-dotenv', 'annotated-types'],
      ...['typing_extensions', 'typing-inspection', 'requests', 'urllib3', 'idna', 'certifi'],
      'charset-normalizer',
    ],
    script: ['tigergraphx_api.py'],
    withToken: 'load_x.py',
  },
  {
    name: 'pyTigerDriver 1.0.15',
    language: 'python',
    requirements: ['pyTigerDriver==1.0.15'],
    script: ['pytigerdriver.py'],
    withToken: { none: 'it logs in with user name and password, and nothing else' },
  },
  {
    name: 'LangChain (langchain-community 0.4.2)',
    language: 'python',
    requirements: ['langchain-community==0.4.2', 'pyTigerGraph==2.0.5'],
    script: ['langchain_graph.py'],
    withToken: 'load.py',
    afterBlock: `from langchain_community.graphs import TigerGraph
conn.ai.configureGraphRAGHost("http://127.0.0.1:1")
assert "Person" in TigerGraph(conn).get_schema()
`,
  },
  {
    name: 'graflo 1.24.0',
    language: 'python',
    requirements: ['graflo==1.24.0'],
    script: ['graflo_connection.py'],
    withToken: { none: 'it takes a secret, a user name and a password, and mints its own token' },
    mintsItself: true,
  },
  jdbc('1.3.20'),
  jdbc('1.3.21'),
  {
    name: 'curl, as documented',
    language: 'shell',
    withToken: 'curl: sh',
  },
];
