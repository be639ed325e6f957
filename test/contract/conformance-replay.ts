import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { questionsFor } from '../../scripts/conformance/ask.js';
import type { Question } from '../../scripts/conformance/question.js';
import type { Recorded } from '../../scripts/conformance/redact.js';
import { generationOf, type Recording } from '../../scripts/conformance/run.js';
import { GraphConnection, GraphException } from '../../src/index.js';
import { ACCOUNT } from './conformance-support.js';

const SECRET = 's0000000000000000000000000000001';
const TOKEN = 't0000000000000000000000000000001';

/** A call of the library that sends the request of the question. It returns the library's verdict on the answer. */
type Act = (connection: GraphConnection) => Promise<unknown>;

const MINT: Act = (connection) => connection.mintToken({ secret: SECRET, lifetime: 60, lifetimeUnit: 's' });
const USE: Act = (connection) => connection.rest('GET', '/version');
const DELETE: Act = (connection) => connection.deleteToken(SECRET, { token: TOKEN });
const WITH_PASSWORD: Act = (connection) => connection.mintToken({ lifetime: 60, lifetimeUnit: 's' });

interface Case {
  readonly act: Act;
  readonly on3?: string;
  readonly on4?: string;
  /** Other questions that the library sends during this call. */
  readonly also?: readonly string[];
}

/** For each question the library's call, and its verdict on 3.x and on 4.x: the code of an error, or `ok`. */
const CLIENT: Readonly<Record<string, Case>> = {
  ping: { act: (connection) => connection.ping(), on3: 'ok', on4: 'ok' },
  'rest-no-token': { act: USE, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'rest-unknown-token': { act: USE, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'rest-deleted': { act: USE, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'rest-expired': { act: USE, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'rest-version': { act: USE, on3: 'ok', on4: 'ok' },
  'bad-password': { act: WITH_PASSWORD, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'bad-secret': { act: MINT, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'token-dropped-secret': { act: MINT, on3: 'AUTH_FAILED', on4: 'AUTH_FAILED' },
  'token-60': { act: MINT, on3: 'ok', on4: 'ok' },
  'token-default': { act: MINT, on3: 'ok', on4: 'ok' },
  'token-unknown-graph': { act: WITH_PASSWORD, on3: 'NOT_FOUND', on4: 'NOT_FOUND' },
  'token-lifetime-soon': { act: MINT, on3: 'SERVER_ERROR', on4: 'SERVER_ERROR' },
  refresh: { act: (connection) => connection.renewToken({ secret: SECRET, token: TOKEN }), on3: 'ok' },
  'refresh-unknown': {
    act: (connection) => connection.renewToken({ secret: SECRET, token: TOKEN }),
    on3: 'NOT_FOUND',
  },
  delete: { act: DELETE, on3: 'ok', on4: 'ok', also: ['check'] },
  'delete-unknown': { act: DELETE, on3: 'NOT_FOUND', on4: 'NOT_FOUND', also: ['check-unknown'] },
  'delete-again': { act: DELETE, on3: 'NOT_FOUND', on4: 'NOT_FOUND', also: ['check-deleted'] },
  'delete-bad-secret': { act: DELETE, on3: 'AUTH_FAILED' },
  check: { act: accepted, on4: 'ok' },
  'check-unknown': { act: accepted, on4: 'not accepted' },
  'check-expired': { act: accepted, on4: 'not accepted' },
  'check-deleted': { act: accepted, on4: 'not accepted' },
  create: { act: create, on3: 'ok', also: ['use-graph'] },
  'create-again': { act: create, on3: 'ALREADY_EXISTS', also: ['use-graph'] },
  'secret-create': { act: create, on4: 'ok' },
  'secret-taken': { act: create, on4: 'ALREADY_EXISTS' },
  'show-one': { act: (connection) => connection.listSecrets(), on3: 'ok' },
  'secrets-two': { act: (connection) => connection.listSecrets(), on4: 'ok' },
  drop: { act: drop, on3: 'ok', also: ['use-graph'] },
  'drop-unknown': { act: drop, on3: 'missing', also: ['use-graph', 'show-none'] },
  'use-graph-unknown': { act: drop, on3: 'NOT_FOUND' },
  'secret-drop': { act: drop, on4: 'ok' },
  'secret-drop-unknown': { act: drop, on4: 'missing', also: ['secrets-none'] },
};

function create(connection: GraphConnection) {
  return connection.createSecret('one');
}

async function drop(connection: GraphConnection) {
  if ((await connection.dropSecret('one')).startsWith('Nothing')) throw 'missing';
}

async function accepted(connection: GraphConnection) {
  const { accepted } = await connection.checkToken(TOKEN);
  if (!accepted) throw 'not accepted';
}

/** Returns the library's verdict on every question of the recording that it would send. */
export async function verdicts(
  recording: Recording,
): Promise<Record<string, [expected: string, got: string]>> {
  const generation = generationOf(recording.version);
  const found: Record<string, [string, string]> = {};
  const questions = questionsFor(generation, false);
  for (const { id } of questions) {
    const client = CLIENT[id];
    const expected = generation === '4' ? client?.on4 : client?.on3;
    if (!client || expected === undefined || !('body' in (recording.answers[id] ?? {}))) continue;
    const ids = [id, ...(client.also ?? [])];
    const played = questions.flatMap((question) => {
      const answer = recording.answers[question.id];
      return ids.includes(question.id) && answer && 'body' in answer ? [{ question, answer }] : [];
    });
    found[id] = [expected, await withReplay(played, recording.version, client.act)];
  }
  return found;
}

interface Played {
  readonly question: Question;
  readonly answer: Recorded;
}

/** Starts a server that answers these questions as recorded, and nothing else. */
async function withReplay(played: readonly Played[], version: string, act: Act): Promise<string> {
  const strangers: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = (request.url ?? '').replace(/\?.*/, '');
    const verb = statementIn(Buffer.concat(chunks).toString());
    const found = played.find(
      ({ question }) =>
        request.method === question.method &&
        new RegExp(`^(?:/restpp)?${question.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path) &&
        (question.text === undefined || statementIn(question.text) === verb),
    );
    if (found === undefined && path.endsWith('/version')) {
      response.writeHead(version.startsWith('3') && path.startsWith('/gsqlserver') ? 200 : 404);
      response.end(`GSQL version: ${version}`);
      return;
    }
    if (found === undefined) strangers.push(`${request.method} ${path} ${verb}`);
    response.writeHead(found?.answer.status ?? 418, found?.answer.headers);
    response.end(found && filled(found.answer, version));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = new GraphConnection({
    restUrl: url,
    gsqlUrl: url,
    graph: ACCOUNT.graph,
    username: ACCOUNT.user,
    password: ACCOUNT.password,
    apiToken: TOKEN,
    serverVersion: version,
    timeoutMs: 60_000,
  });
  try {
    await act(connection);
    return strangers.length > 0 ? `asked ${strangers}` : 'ok';
  } catch (error) {
    if (strangers.length > 0) return `asked ${strangers}`;
    return error instanceof GraphException ? error.code : String(error);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Returns the verb of the last GSQL statement. */
function statementIn(text: string): string {
  const last = decodeURIComponent(text.replaceAll('+', ' ')).trim().split('\n').at(-1) ?? '';
  return /^[A-Z]+(?= (?:SECRET|GRAPH))/.exec(last)?.[0] ?? '';
}

/** Replaces the names in the recorded body by values of the test. */
function filled({ body, jwt }: Recorded, version: string): string {
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = now - 5;
  const token = jwt ? `${part({ alg: jwt.alg })}.${part({ iat, exp: iat + jwt.life })}.c2lnbmF0dXJl` : TOKEN;
  const values: Record<string, string> = { secret: SECRET, token, ...ACCOUNT, version };
  for (const alias of ['alias1', 'alias2', 'alias3', 'noAlias']) values[alias] = 'one';
  return body
    .replace(/"\{now\+(\d+)\}"/g, (_, seconds: string) => String(now + Number(seconds)))
    .replace(/\{masked\}/g, 'abc****xyz')
    .replace(
      /\{(\w+)\}/g,
      (mark, name: string) => values[name] ?? (/^\{[a-z]+\d?\}$/i.test(mark) ? name : mark),
    );
}
