import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findCredential, resolveCredential } from '../../src/auth/choose.js';
import type { CredentialSource } from '../../src/auth/credential.js';
import { redact } from '../../src/auth/readers.js';
import type { Session } from '../../src/cli/session.js';
import { Sensitive } from '../../src/core/sensitive.js';
import type { Store, StoreRecord } from '../../src/store/store.js';
import { quietSession, temporaryHome } from '../helpers/cli.js';

const source = (kind: 'secret' | 'password', level: 'flag' | 'variable'): CredentialSource => ({
  kind,
  level,
  label: `${level} ${kind}`,
  belongsTo: 'the servers in force',
  servers: async () => 'in force',
  read: async () => new Sensitive('canary'),
});

test.each([
  ['mint', 'variable secret'],
  ['login', 'variable password'],
] as const)('of two at one level, a %s takes the %s', async (purpose, label) => {
  for (const kinds of [['secret', 'password'] as const, ['password', 'secret'] as const]) {
    const sources = kinds.map((kind) => source(kind, 'variable'));
    expect((await resolveCredential(sources, purpose, 'ada')).label).toBe(label);
  }
});

test('the level of highest priority is used, whichever kind it has', async () => {
  const sources = [source('secret', 'flag'), source('password', 'variable')];
  expect((await resolveCredential(sources, 'login', 'ada')).label).toBe('flag secret');
});

test.each(['password', 'secret', 'token', 'key'])(
  'the value after %s in a program’s output is hidden, however short',
  (name) => {
    expect(redact(`${name}=abc`)).toBe(`${name}=[redacted]`);
    expect(redact(`"${name.toUpperCase()}": abc`)).toBe(`"${name.toUpperCase()}": [redacted]`);
  },
);

const FOREIGN = 'http://other.example:14240';

test('of the saved secrets of one name the one saved last is used, in whatever order the store lists them', async () => {
  const session = await savedSession({});
  const two = [saved('ci', { createdAtUnix: 1 }), saved('ci_next', { createdAtUnix: 2, rotationOf: 'ci' })];
  for (const records of [two, two.toReversed()]) {
    const { principal } = await findCredential(session, 'mint', async () => storeOf(records));
    expect(principal).toBe('secret:ci_next');
  }
});

test('the error about a credential for other servers names the one of highest priority', async () => {
  const env = { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1', GRAPHCRED_REST_URL: 'http://127.0.0.1:2' };
  const own = { gsqlUrl: FOREIGN, restUrl: 'http://other.example:9000' };
  const store = async () => storeOf([saved('ci', own)]);
  const profile = { ...own, username: 'ada' };
  await expect(findCredential(await savedSession(env, profile), 'mint', store)).rejects.toMatchObject({
    code: 'HOST_MISMATCH',
    message: expect.stringContaining(
      'The credential from saved secret ci belongs to http://other.example:14240 ',
    ),
  });
  const both = await savedSession(env, { ...profile, password: 'hunter2' });
  await expect(findCredential(both, 'mint', store)).rejects.toMatchObject({
    code: 'HOST_MISMATCH',
    message: expect.stringContaining('The credential from profile default: password belongs to'),
  });
});

const HERE = { gsqlUrl: 'http://127.0.0.1:1', restUrl: 'http://127.0.0.1:2' };

/** Opens a session with this profile in the user's config file. */
function savedSession(env: Record<string, string>, profile: object = HERE): Promise<Session> {
  const home = temporaryHome();
  const file = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
  return quietSession(home, { ...env, GRAPHCRED_STORE: 'file' });
}

function saved(alias: string, { createdAtUnix = 1, ...info }: Record<string, string | number>): StoreRecord {
  const about = { ...HERE, graph: null, username: 'ada', alias, id: `secret:${alias}`, ...info };
  return {
    v: 1,
    kind: 'secret',
    key: alias,
    store: 'file',
    createdAtUnix: Number(createdAtUnix),
    info: about,
  };
}

function storeOf(records: StoreRecord[]): Store {
  return { name: 'file', list: async () => [...records] } as unknown as Store;
}
