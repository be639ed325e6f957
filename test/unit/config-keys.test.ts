import { describe, expect, test } from 'vitest';
import { keyError, noSuchProfile, refuseValue } from '../../src/config/errors.js';
import {
  type ConfigKey,
  CREDENTIAL_KEYS,
  isInFile,
  isLiteralCredential,
  PRECEDENCE,
  parseDuration,
  RUNS_OR_READS,
  SETTINGS,
  type SettingsInput,
} from '../../src/config/keys.js';
import { parseConfig } from '../../src/config/parse.js';
import { isOn, resolveSettings, settingText } from '../../src/config/settings.js';

const KEYS = Object.keys(SETTINGS) as ConfigKey[];
const INPUT: SettingsInput = {
  flags: {},
  env: {},
  cwd: '/',
  home: undefined,
  configDir: undefined,
};
const settingsOf = (env: SettingsInput['env'], flags: SettingsInput['flags'] = {}) =>
  resolveSettings({ ...INPUT, env, flags }, undefined);

describe('the table of settings', () => {
  test.each([
    ['minTtl', 'min-ttl', 'GRAPHCRED_MIN_TTL'],
    ['oidc.clientId', 'oidc-client-id', 'GRAPHCRED_OIDC_CLIENT_ID'],
    ['tls.ca', 'ca', 'GRAPHCRED_CA'],
  ] as const)(
    'the flag and the variable of %s are named after it, and tell its value',
    (key, flag, variable) => {
      const { all } = settingsOf({ [variable]: 'of-env' }, { [flag]: 'of-flag' });
      expect(all[key].slice(0, 2)).toMatchObject([
        { value: 'of-flag', level: 'flag', source: `--${flag}` },
        { value: 'of-env', level: 'variable', source: variable },
      ]);
    },
  );

  test('the credentials, and what belongs to an address, are these', () => {
    expect(KEYS.filter((key) => isLiteralCredential(key, 'x'))).toEqual(['password', 'secret', 'jwt']);
    expect(CREDENTIAL_KEYS.join(' ')).toBe(
      'password passwordFile passwordCommand secret secretFile secretCommand jwt jwtFile jwtCommand oidc.issuer oidc.clientId oidc.scopes oidc.audience oidc.use oidc.grant oidc.clientSecretFile oidc.clientAssertion oidc.port',
    );
    expect(RUNS_OR_READS.join(' ')).toBe(
      'passwordFile passwordCommand secretFile secretCommand jwtFile jwtCommand oidc.issuer oidc.clientSecretFile oidc.clientAssertion redis.url redis.passwordFile redis.ca tls.ca tls.cert tls.key tls.insecure',
    );
    expect(PRECEDENCE.filter(isInFile)).toEqual(['profile', 'fileDefaults']);
  });
});

// holds: C3.3
test.each([
  ['90', 90],
  ['90s', 90],
  ['15m', 900],
  ['12h', 43_200],
  ['30d', 2_592_000],
  ['1w', 604_800],
  ['0', 0],
  ['36500d', 3_153_600_000],
  ['3153600001', undefined],
  ['5215w', undefined],
  ['1e3', undefined],
  ['', undefined],
  ['1 h', undefined],
  ['-1', undefined],
  ['1.5h', undefined],
  ['1y', undefined],
  ['x1s', undefined],
])('the duration %j is %s seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

describe('the value of a setting', () => {
  test('that is empty counts as not set, and one of blanks does not', () => {
    expect(settingText(settingsOf({ GRAPHCRED_GRAPH: '', TG_GRAPHNAME: 'tg' }), 'graph')).toBe('tg');
    expect(settingText(settingsOf({ GRAPHCRED_USERNAME: ' ' }), 'username')).toBe(' ');
    expect(settingText(settingsOf({ GRAPHCRED_GRAPH: 'env' }, { graph: '' }), 'graph')).toBe('env');
  });

  test('that is missing after its key in a config file, or null, counts as not set', async () => {
    const { defaults } = await parseConfig('/x/.graphcredrc', 'username:\ngraph: null\nrestPort: ""\n');
    expect(defaults).toEqual({});
  });

  test('of a switch is one of eight words, in any case of the letters', () => {
    const read = (word: string) => isOn(settingsOf({ GRAPHCRED_INSECURE: word }), 'tls.insecure');
    expect(['1', 'true', 'YES', 'on'].map(read)).toEqual(Array(4).fill(true));
    expect(['0', 'false', 'No', 'off', ''].map(read)).toEqual(Array(5).fill(false));
  });

  test('that nobody set is refused as USAGE, by its source', () => {
    expect(() => refuseValue(settingsOf({}), 'host', 'is bad', 'hint')).toThrow(
      expect.objectContaining({ code: 'USAGE', message: 'The value of default is bad.', hint: 'hint' }),
    );
    expect(() => refuseValue(settingsOf({}), 'graph', 'is bad', 'hint')).toThrow('graph is bad.');
  });
});

describe('the error for a key of a file', () => {
  const shown = (...path: string[]) => keyError('/x', path, 'is bad').message;

  test('names file and key, and the whole file where there is no key', () => {
    expect(keyError('/x', ['tls', 'ca'], 'is bad')).toMatchObject({
      code: 'CONFIG_INVALID',
      message: '/x: tls.ca is bad.',
      hint: 'correct the file; to see all settings: graphcred help environment',
    });
    expect(shown()).toBe('/x: the file is bad.');
  });

  test('escapes what is not printable', () => {
    expect(shown('a b')).toBe('/x: "a b" is bad.');
    expect(shown('\u001b[31mé')).toBe('/x: "\\u001b[31mé" is bad.');
    const { message } = noSuchProfile('\u001b[31mprod\n', 'here');
    expect(message).toBe('There is no profile "\\u001b[31mprod\\n" (here): no config file was found.');
  });
});
