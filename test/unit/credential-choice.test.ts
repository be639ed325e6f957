import { expect, test } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { redact } from '../../src/credentials/readers.js';
import { type CredentialSource, resolveCredential } from '../../src/credentials/resolve.js';

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
