// Reads what the library exports from src/index.ts with the TypeScript compiler, and makes docs/library.md from it.
import path from 'node:path';
import ts from 'typescript';

const INTRODUCTION = `# The library

\`\`\`js
import { GraphConnection, GraphException } from 'graphcred'; // or: const { GraphConnection } = require('graphcred')

const connection = new GraphConnection({
  host: 'https://graph.example.com', // with restPort and gsqlPort; or restUrl and gsqlUrl in their place
  graph: 'social',
  username: 'alice',
  password,
});
\`\`\`

To have it in a project: \`npm pack\` in the clone of graphcred, then \`npm install\` with the path of the file that it makes. It is one CommonJS file for \`import\` and \`require\`, with types that need no others; bundlers take it as it is. The library reads no file, no environment variable and no terminal, prints
nothing and stores nothing: your program gives it every value. Node 20.19 or later.

**Units.** Names that end in \`Unix\` are whole seconds since 1970. Lifetimes are seconds. \`timeoutMs\` and \`ms\` are milliseconds.

**Errors.** Every refusal is a [\`GraphException\`](#graphexception) with a \`code\` that stays the same from version to version; what each means is in
[reference.md](reference.md#exit-codes). Any method that talks to a server can throw NETWORK, TIMEOUT, TLS, SERVER_UNAVAILABLE, AUTH_FAILED,
PERMISSION_DENIED, BAD_RESPONSE and SERVER_ERROR. Each method lists the other codes that it throws. No request that changes something is sent a second time after a
failure that leaves open what happened; \`ambiguous\` then says so. A value of another type than the types say is USAGE before anything is sent, with
its name in \`option\`; null counts as not given.

**Two names for one job.** \`getSecrets\`, \`getToken\` and \`refreshToken\` are named as in pyTigerGraph, and return what it returns. In new code use their twins,
which return all that is known: \`listSecrets\`, \`mintToken\` (in a program that runs for long [\`tokenProvider\`](#tokenprovider)) and \`renewToken\`.

The examples below run, in this order, as a test, against servers of version 3.x and 4.x, with the connection above.
`;

/** Examples of methods whose signature does not say all; test/cli/library-page.test.ts runs them in the order of the page. */
const EXAMPLES = {
  findVersion: `const { version, canRefresh } = await connection.findVersion(); // '3.10.1', true`,
  getSecrets: `const masked = await connection.getSecrets(); // { etl: 'k3v****9qz' }`,
  listSecrets: `for (const { alias, masked, graph } of await connection.listSecrets()) console.log(alias, masked, graph);`,
  createSecret: `const secret = await connection.createSecret('report');
const named = await connection.createSecret('', { withAlias: true }); // { AUTO_GENERATED_ALIAS_a1b2c3d: '…' }`,
  dropSecret: `await connection.dropSecret(['report', 'never_there']); // 'Dropped: report. There is no such secret: never_there.'`,
  getToken: `const secret = await connection.createSecret('nightly');
const [token, ...end] = await connection.getToken({ secret, lifetime: 3600 });
// 3.x: end is [1700000000, '2023-11-14T22:13:20Z']; 4.x: end is the server's own sentence, alone`,
  mintToken: `const { token, expiresAtUnix, grantedSeconds } = await connection.mintToken({ lifetime: 900 });`,
  refreshToken: `if ((await connection.findVersion()).canRefresh) {
  const [token, expiresAtUnix, iso] = await connection.refreshToken({ lifetime: 7200 });
}`,
  renewToken: `if ((await connection.findVersion()).canRefresh) {
  const { token, expiresAtUnix } = await connection.renewToken({ lifetime: 7200 });
}`,
  deleteToken: `const { token } = await connection.mintToken({ lifetime: 900 });
await connection.deleteToken(undefined, { token }); // true
await connection.deleteToken(undefined, { token, skipNA: true }); // true: it is gone already`,
  restAuthentication: `if ((await connection.restAuthentication()) === 'off') console.log('anybody can read this server');`,
  ping: `const seconds = await connection.ping(); // 1700000000, or undefined`,
  rest: `const reply = await connection.rest('GET', '/graph/social/vertices/Person?limit=2');
const { results } = JSON.parse(reply.body);`,
  tokenProvider: `const tokens = connection.tokenProvider({ secret: await connection.createSecret('service'), lifetime: 900 });
const { token } = await tokens.get(); // one mint for all callers; renewed in the background
const response = await fetch(\`\${(await connection.baseUrls()).restUrl}/echo\`, { headers: await tokens.headers() });
await connection.rest('GET', '/echo'); // uses it too`,
  service: `const { status, body } = await connection.service('GET', '/api/ping');`,
};

/** The names with a section of their own, in the order of the page. The others are rows of one table. */
const SECTIONS = ['GraphConnection', 'GraphException'];

/** Returns the text of docs/library.md. */
export function libraryPage(root) {
  const names = publicNames(root);
  const [connection, exception] = SECTIONS.map((name) => names.find((one) => one.name === name));
  const types = names
    .filter(({ name }) => !SECTIONS.includes(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return `${[
    INTRODUCTION.trimEnd(),
    `## GraphConnection\n\n${connection.text}`,
    ...methods(connection),
    `## GraphException\n\n${exception.text} Also everything of \`Error\`.`,
    table(
      ['member', 'what it is'],
      exception.members.map(({ type, text }) => [code(type), text]),
    ),
    '## Types',
    table(
      ['name', 'what it is', 'members'],
      types.map((one) => [code(one.name), one.text, content(one)]),
    ),
  ].join('\n\n')}\n`;
}

function methods({ members }) {
  const unknown = Object.keys(EXAMPLES).filter((name) => !members.some((member) => member.name === name));
  if (unknown.length > 0) throw new Error(`scripts/library-page.mjs has examples for no method: ${unknown}`);
  return members.map(({ name, type, text }) => {
    const signatures = type.split('\n').map(code).join(' ');
    const example = EXAMPLES[name] === undefined ? [] : ['```js', EXAMPLES[name], '```'];
    return [`### ${name}`, `${signatures} ${text}`, ...example].join('\n');
  });
}

function content({ type, base, members }) {
  if (type !== '') return code(type.replace(/\s*\n\s*/g, ' ').replace(/^\| /, ''));
  const own = members.map((member) => `${code(member.type)} ${member.text}`);
  return [...own, ...(base === '' ? [] : [`and everything of ${code(base)}`])].join('<br>');
}

const code = (text) => `\`${text}\``;

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * Returns every exported name with its comment and its members, in the order of the source.
 * @returns {{name: string, kind: string, text: string, type: string, base: string, members: {name: string, text: string, type: string}[]}[]}
 */
export function publicNames(root) {
  const index = path.join(root, 'src/index.ts');
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  );
  const program = ts.createProgram([index], options);
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(index)));
  return exported.map((alias) => {
    const symbol = alias.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(alias) : alias;
    const [declaration] = symbol.declarations;
    return {
      name: alias.name,
      kind: kindOf(declaration),
      text: commentOf(symbol, checker),
      type: ts.isTypeAliasDeclaration(declaration) ? declaration.type.getText() : '',
      base:
        declaration.heritageClauses?.flatMap(({ types }) => types.map((one) => one.getText())).join(', ') ??
        '',
      members: ts.isTypeAliasDeclaration(declaration) ? [] : membersOf(declaration, checker),
    };
  });
}

function kindOf(declaration) {
  if (ts.isClassDeclaration(declaration)) return 'class';
  return ts.isInterfaceDeclaration(declaration) ? 'interface' : 'type';
}

/** Returns the public members. Overloads of one method count as one. */
function membersOf(declaration, checker) {
  const found = new Map();
  for (const member of declaration.members) {
    if (ts.isConstructorDeclaration(member) || ts.isSetAccessor(member) || !member.name) continue;
    if (ts.isPrivateIdentifier(member.name) || ts.isComputedPropertyName(member.name)) continue;
    const name = member.name.getText();
    if (found.has(name)) {
      if (ts.isMethodDeclaration(member) && !member.body) found.get(name).type += `\n${typeOf(member)}`;
      continue;
    }
    const symbol = checker.getSymbolAtLocation(member.name);
    found.set(name, { name, text: commentOf(symbol, checker), type: typeOf(member) });
  }
  return [...found.values()];
}

function commentOf(symbol, checker) {
  const text = ts
    .displayPartsToString(symbol.getDocumentationComment(checker))
    .replace(/\s*\n\s*/g, ' ')
    .trim();
  if (text === '') throw new Error(`${symbol.name} is exported by src/index.ts and has no comment.`);
  return text;
}

/** Returns the parameters and result of a method, or the type of a field, as written in the source. */
function typeOf(member) {
  const source = member.getSourceFile().text;
  const [first] = [member.body?.getStart()].filter((at) => at !== undefined);
  const text = first === undefined ? member.getText() : source.slice(member.getStart(), first);
  return text
    .replace(/^(async|readonly|get)\s+/, '')
    .replace(/\s+/g, ' ')
    .replace(/(\?: [^;,)=]*?) \| undefined\b/g, '$1')
    .replace(/^(\w+)\(\)(?=: )/, ts.isGetAccessor(member) ? '$1' : '$&')
    .replace(/\( /g, '(')
    .replace(/, \)/g, ')')
    .replace(/;$/, '')
    .trim();
}
