// The curl commands of the vendor's documentation, unchanged, including the ports, names and secret of the samples.

import fs from 'node:fs';
import path from 'node:path';
import { spawned } from '../helpers/process.js';
import { testSandbox } from '../helpers/sandbox.js';

/** One thing that a program tried, and the error if it failed. */
export interface Step {
  readonly step: string;
  readonly error: string | null;
}

const SECRET = 'jiokmfqqfu2f95qs6ug85o89rpkneib3';
const LOGIN = '--user example_username:example_password';

interface Line {
  readonly step: string;
  /** The curl command. TOKEN stands for the token that was minted last. */
  readonly line: string;
  readonly answer: RegExp;
}

const SINCE_3_0: readonly Line[] = [
  {
    step: 'mint with a secret',
    line: `curl -X GET "http://localhost:9000/requesttoken?secret=${SECRET}&lifetime=1000000"`,
    answer: /"message":"Generate new token successfully/,
  },
  {
    step: 'mint with a secret in a file',
    line: 'curl -d @secret.txt -X POST "http://localhost:9000/requesttoken?lifetime=1000000"',
    answer: /"error":false/,
  },
  {
    step: 'mint with a password',
    line: `curl ${LOGIN} -X GET "localhost:9000/requesttoken?graph=MyGraph"`,
    answer: /"message":"Generate new token successfully/,
  },
  {
    step: 'refresh a token',
    line: `curl -X PUT "http://localhost:9000/requesttoken?lifetime=15&secret=${SECRET}&token=TOKEN"`,
    answer: /"message":"Refresh token successfully/,
  },
  {
    step: 'use a token',
    line: 'curl -X GET -H "Authorization: Bearer TOKEN" "http://localhost:9000/graph/MyGraph/vertices/Person"',
    answer: /"v_type":"Person"/,
  },
  {
    step: 'delete a token',
    line: `curl -X DELETE "http://localhost:9000/requesttoken?secret=${SECRET}&token=TOKEN"`,
    answer: /"error":false/,
  },
];

const SINCE_3_5: readonly Line[] = [
  {
    step: 'mint with a secret',
    line: `curl -X POST http://localhost:9000/requesttoken \\
   -d '{"secret":"${SECRET}", "graph":"MyGraph", "lifetime":"100000", "allowExisting":"true"}'`,
    answer: /"message":"(Generate new|Refresh) token successfully/,
  },
  {
    step: 'mint with a password',
    line: `curl ${LOGIN} \\
   -X POST http://localhost:9000/requesttoken \\
   -d '{"graph": "example_graph"}'`,
    answer: /"results":\{"token":"/,
  },
  {
    step: 'mint with a secret behind the GSQL port',
    line: `curl -X POST http://localhost:14240/restpp/requesttoken -d '{"secret":"${SECRET}", "lifetime":"100000"}'`,
    answer: /"message":"Generate new token successfully/,
  },
  {
    step: 'refresh a token with a secret',
    line: `curl -X PUT http://localhost:9000/requesttoken \\
   -d '{"secret": "${SECRET}", "token": "TOKEN", "lifetime": "15000"}'`,
    answer: /"message":"Refresh token successfully/,
  },
  {
    step: 'refresh a token with a password',
    line: `curl ${LOGIN} \\
   -X PUT http://localhost:9000/requesttoken \\
   -d '{"token": "TOKEN", "lifetime": "15000"}'`,
    answer: /"message":"Refresh token successfully/,
  },
  {
    step: 'use a token',
    line: 'curl -X GET -H "Authorization: Bearer TOKEN" "http://localhost:9000/graph/MyGraph/vertices/Person"',
    answer: /"v_type":"Person"/,
  },
  {
    step: 'delete a token',
    line: `curl -X DELETE http://localhost:9000/requesttoken -d '{"secret": "${SECRET}", "token": "TOKEN"}'`,
    answer: /"message":"Drop token successfully/,
  },
];

const gsqlFile = (statement: string) =>
  `curl ${LOGIN} -X POST http://localhost:14240/gsqlserver/gsql/file -d 'USE+GRAPH+MyGraph%0A${statement}'`;

const GSQL_3: readonly Line[] = [
  { step: 'create a secret', line: gsqlFile('CREATE+SECRET+client_one'), answer: /The secret: \w{32} / },
  { step: 'list secrets', line: gsqlFile('SHOW+SECRET'), answer: /- Alias: client_one/ },
  { step: 'drop a secret', line: gsqlFile('DROP+SECRET+client_one'), answer: /Successfully dropped secrets/ },
];

const JSON_TYPE = '-H "Content-Type: application/json"';

const SINCE_4_1: readonly Line[] = [
  {
    step: 'find the server version',
    line: 'curl -X GET "http://localhost:14240/gsql/v1/version?verbose=true"',
    answer: /GSQL version/,
  },
  {
    step: 'create a secret',
    line: `curl ${LOGIN} -X POST ${JSON_TYPE} "http://localhost:14240/gsql/v1/secrets?alias=client_one"`,
    answer: /"alias":"client_one","value":"\w{32}"/,
  },
  {
    step: 'list secrets',
    line: `curl ${LOGIN} -X GET ${JSON_TYPE} "http://localhost:14240/gsql/v1/secrets"`,
    answer: /"alias":"client_one"/,
  },
  {
    step: 'show a secret',
    line: `curl ${LOGIN} -X GET ${JSON_TYPE} "http://localhost:14240/gsql/v1/secrets/client_one"`,
    answer: /"alias":"client_one"/,
  },
  {
    step: 'mint with a secret',
    line: `curl -X POST ${JSON_TYPE} "http://localhost:14240/gsql/v1/tokens" -d '{"secret":"${SECRET}"}'`,
    answer: /"message":"Generate new JWT token successfully/,
  },
  {
    step: 'mint with a password',
    line: `curl ${LOGIN} -X POST ${JSON_TYPE} "http://localhost:14240/gsql/v1/tokens" -d '{"graph":"MyGraph", "lifetime":"86400"}'`,
    answer: /"message":"Generate new JWT token successfully/,
  },
  {
    step: 'check a token',
    line: `curl -X POST ${JSON_TYPE} "http://localhost:14240/gsql/v1/tokens/check" -d '{"token" : "TOKEN"}'`,
    answer: /verification succeed/,
  },
  {
    step: 'use a token',
    line: 'curl -X GET -H "Authorization: Bearer TOKEN" "http://localhost:14240/restpp/graph/MyGraph/vertices/Person"',
    answer: /"v_type":"Person"/,
  },
  {
    step: 'run a GSQL statement',
    line: `curl ${LOGIN} -X POST -H "Content-Type: text/plain" "http://localhost:14240/gsql/v1/statements" -d 'SHOW SECRET'`,
    answer: /- Alias: client_one/,
  },
  {
    step: 'delete a token',
    line: `curl ${LOGIN} -X DELETE ${JSON_TYPE} "http://localhost:14240/gsql/v1/tokens" -d '{"tokens":"TOKEN"}'`,
    answer: /Successfully dropped the specified JWT tokens/,
  },
  {
    step: 'drop a secret',
    line: `curl ${LOGIN} -X DELETE ${JSON_TYPE} "http://localhost:14240/gsql/v1/secrets/client_one"`,
    answer: /Successfully removed the secrets for user example_username/,
  },
  {
    step: 'drop several secrets',
    line: `curl ${LOGIN} -X DELETE ${JSON_TYPE} "http://localhost:14240/gsql/v1/secrets" -d '{"secrets":["${SECRET}"]}'`,
    answer: /Successfully removed the secrets for user example_username/,
  },
];

function linesFor(serverVersion: string): readonly Line[] {
  if (serverVersion.startsWith('4')) return SINCE_4_1;
  return [...(Number(serverVersion.split('.')[1]) < 5 ? SINCE_3_0 : SINCE_3_5), ...GSQL_3];
}

/** Runs the commands unchanged against a sandbox. curl's own settings redirect the two ports to it. */
export async function curlSteps(serverVersion: string, home: string): Promise<Step[]> {
  const sandbox = await testSandbox({
    serverVersion,
    users: [{ name: 'example_username', password: 'example_password', role: 'superuser' }],
    graphs: ['MyGraph', 'example_graph'],
    secrets: [{ alias: 'sample', value: SECRET, user: 'example_username', graph: 'MyGraph' }],
  });
  const { port } = new URL(sandbox.gsqlUrl);
  const settings = ['silent', `connect-to = "localhost:14240:127.0.0.1:${port}"`];
  if (serverVersion.startsWith('3'))
    settings.push(`connect-to = "localhost:9000:127.0.0.1:${new URL(sandbox.restUrl).port}"`);
  fs.writeFileSync(path.join(home, '.curlrc'), settings.join('\n'));
  fs.writeFileSync(path.join(home, 'secret.txt'), `${SECRET}\n`);
  let token = '';
  const steps: Step[] = [];
  for (const { step, line, answer } of linesFor(serverVersion)) {
    const script = `cd "$HOME" && ${line.replaceAll('TOKEN', token)}`;
    const { stdout, stderr } = await spawned(['sh', '-c', script], { HOME: home });
    token = /"token":"([^"]+)"/.exec(stdout)?.[1] ?? token;
    steps.push({ step, error: answer.test(stdout) ? null : `${stdout}${stderr}` });
  }
  return steps;
}
