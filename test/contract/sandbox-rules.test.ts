// Who may do what on the sandbox's servers, as far as no transcript of test/transcripts/sandbox shows it.
import { expect, it } from 'vitest';
import { readJwt } from '../../src/sandbox/jwt.js';
import { loadState, stateWriter } from '../../src/sandbox/state.js';
import { temporaryHome } from '../helpers/cli.js';
import { hmacJwt, rsaJwt } from '../helpers/jwt.js';
import { ask, basic, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const bearer = (token = '') => ({ Authorization: `Bearer ${token}` });

it.each([
  ['3.10.1', '/gsqlserver/gsql/schema?graph=', '&'],
  ['4.2.0', '/gsql/v1/schema/graphs/', '?'],
])(
  'the GSQL server of %s shows the schema of a graph, and one type of it',
  async (serverVersion, path, next) => {
    const sandbox = await start({ serverVersion });
    const get = (what: string, headers: object = LOGIN) =>
      ask(sandbox.gsqlUrl, `GET ${path}${what}`, headers);
    expect(await get('demo_graph')).toMatchObject({
      results: { GraphName: 'demo_graph', EdgeTypes: [{ Name: 'lives_in' }] },
    });
    expect(await get(`demo_graph${next}type=City`)).toMatchObject({ results: { Name: 'City' } });
    expect((await get(`demo_graph${next}type=None`)).message).toBe("Type 'None' does not exist.");
    expect((await get('none')).error).toBe(true);
    expect((await get('demo_graph', {})).status).toBe(401);
  },
);

it('a 4.x server lists its graphs, its REST server its endpoints, and other paths for a token are 404', async () => {
  const sandbox = await start({ serverVersion: '4.2.0' });
  const graphs = await raw(sandbox.gsqlUrl, 'GET /gsql/v1/schema/graphs', LOGIN);
  expect(JSON.parse(graphs.body).graphs).toContainEqual({ GraphName: 'demo_graph' });
  expect((await raw(sandbox.gsqlUrl, 'GET /gsql/v1/schema/graphs')).status).toBe(401);
  expect((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/auth/token', LOGIN)).status).toBe(404);
  const { token } = await ask(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', {}, { secret: SECRET });
  const endpoints = async (query: string) =>
    JSON.parse((await raw(sandbox.restUrl, `GET /endpoints${query}`, bearer(token))).body) as object;
  expect(await endpoints('')).toHaveProperty('GET /echo');
  expect(await endpoints('/demo_graph?dynamic=true')).toEqual({});
});

it.each(['3.10.1', '4.2.0'])(
  '%s refuses the token and the secret of a user who has gone',
  async (serverVersion) => {
    const stateFile = `${temporaryHome()}/state.json`;
    const secrets = [{ alias: 'a', value: SECRET, user: 'second', graph: 'demo_graph' }];
    const before = await start({ serverVersion, stateFile, secrets });
    const mint = ({ restUrl }: typeof before) => ask(restUrl, 'POST /requesttoken', {}, { secret: SECRET });
    const { token } = await mint(before);
    await before.close();
    const state = loadState(stateFile);
    if (!state) throw new Error('no state');
    stateWriter(stateFile, { ...state, users: state.users.filter(({ name }) => name !== 'second') })();
    const after = await start({ serverVersion, stateFile, users: [], secrets: [] });
    expect(await ask(after.restUrl, 'GET /echo', bearer(token))).toMatchObject({
      status: 403,
      code: 'REST-10016',
    });
    expect((await mint(after)).error).toBe(true);
  },
);

it('a token is for the graph of its secret, whatever graph is named, and a limit is a whole number', async () => {
  const { restUrl } = await start();
  const body = { secret: SECRET, graph: 'other_graph' };
  const { token } = await ask(restUrl, 'POST /requesttoken', {}, body);
  const status = async (path: string) => (await ask(restUrl, `GET /graph/${path}`, bearer(token))).status;
  expect(await status('demo_graph/vertices/City')).toBe(200);
  expect(await status('other_graph/vertices/City')).toBe(401);
  expect(await status('demo_graph/vertices/City?limit=1a')).toBe(400);
});

it.each([
  ['3.9.3', 'not in correct format'],
  ['3.10.1', 'is invalid'],
])(
  'the REST server of %s refuses the JWT of a provider that is not set up: %s',
  async (serverVersion, why) => {
    const { restUrl } = await start({ serverVersion });
    const jwt = rsaJwt({ sub: 'demo_user', exp: NOW + 60 });
    expect((await ask(restUrl, 'GET /echo', bearer(jwt))).message).toContain(why);
  },
);

it('who logs in by a secret on 3.x has its graph and no other, and is given what he sent as his login', async () => {
  const { gsqlUrl, restUrl } = await start();
  const login = { Authorization: basic('__GSQL__secret', SECRET) };
  const run = await raw(gsqlUrl, 'POST /gsqlserver/gsql/file', login, 'SHOW SECRET USE GRAPH other_graph');
  expect(run.body).toMatch(/- Alias: demo_alias\n.*\nGraph 'other_graph' does not exist\.\n/);
  expect(run.body).toContain(JSON.stringify(login.Authorization));
  expect((await ask(restUrl, 'POST /requesttoken', login, {})).error).toBe(false);
  expect((await ask(restUrl, 'POST /requesttoken', login, { graph: 'other_graph' })).error).toBe(true);
});

it('who failed to log in too often is told the seconds to wait, and the last one counts whole', async () => {
  let nowMs = NOW * 1000;
  const { restUrl } = await start({ now: () => nowMs });
  const login = async (password: string) => {
    const headers = { Authorization: basic('demo_user', password) };
    return (await ask(restUrl, 'POST /requesttoken', headers, { graph: 'demo_graph' })).message;
  };
  for (let i = 0; i < 5; i++) await login('wrong');
  nowMs += 9_500;
  expect(await login('demo_pass')).toContain('Please re-login after 1 seconds');
});

const CLAIMS = { sub: 'demo_user', exp: NOW + 60 };
const WHOLE = hmacJwt(CLAIMS, 'key');

it.each([
  ['of four parts', `${WHOLE}.more`, 'malformed'],
  ['of two parts', WHOLE.replace(/\.[^.]*$/, ''), 'malformed'],
  ['whose claims are null', hmacJwt(null as never, 'key'), 'malformed'],
  ['without an end', hmacJwt({ sub: 'demo_user' }, 'key'), 'malformed'],
  ['whose user is a number', hmacJwt({ ...CLAIMS, sub: 7 }, 'key'), 'malformed'],
  ['with a shorter signature', WHOLE.slice(0, -4), 'signature'],
  ['of another key', hmacJwt(CLAIMS, 'other'), 'signature'],
  ['that is whole', WHOLE, CLAIMS],
])('a JWT %s is read as such', (_what, token, read) => {
  expect(readJwt(token, 'key')).toEqual(read);
});

it.each([
  ['v'.repeat(256), 200],
  ['v'.repeat(257), 400],
])('the value %s of a new secret on 4.x is %i', async (value, status) => {
  const { gsqlUrl } = await start({ serverVersion: '4.1.2' });
  expect((await raw(gsqlUrl, `POST /gsql/v1/secrets?value=${value}`, LOGIN)).status).toBe(status);
});
