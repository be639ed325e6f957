interface Switch<T> {
  readonly initial: T;
  /** The question, for docs/dev/sandbox.md. */
  readonly about: string;
  /** All values, when there are only a few. */
  readonly choices?: readonly T[];
  /** What is valid, in words. */
  readonly rule: string;
  fits(value: unknown): boolean;
}

/** A switch with a few values; the first is the initial one. */
function choice<const T extends string | boolean>(values: readonly [T, ...T[]], about: string): Switch<T> {
  const fits = (value: unknown) => values.includes(value as T);
  return { initial: values[0], choices: values, about, rule: values.join(', '), fits };
}

function number(initial: number, about: string): Switch<number> {
  const fits = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;
  return { initial, about, rule: 'a whole number from 0 up', fits };
}

const UTC = { name: 'UTC', offsetMinutes: 0 };

function isZone(value: unknown): boolean {
  const given = value as typeof UTC | null;
  return typeof given?.name === 'string' && Number.isInteger(given.offsetMinutes);
}

/** Behaviour on which the sources disagree, or that depends on the settings of a real server. */
export const SWITCHES = {
  secretsShape: choice(
    ['list', 'object'],
    'the answer of `GET /gsql/v1/secrets`: a list as pyTigerGraph reads it, or one object as in the docs',
  ),
  requestTokenOn4: choice(
    ['served', 'gone', 'page'],
    'whether 4.x still has `/requesttoken` (JDBC uses it), answers REST-1000, or 400 and a web page (Savanna)',
  ),
  deleteWithoutLogin: choice(
    ['default-password', 'never'],
    'pyTigerGraph 1.7 deletes tokens without login, and its tests pass on servers with the default account',
  ),
  defaultPassword: choice(
    ['login', 'no-login'],
    'while the user `tigergraph` has the password `tigergraph`, GSQL authentication is off (documented for 3.9 and 4.2): a request without any login is that user’s. Off here by default, so that a forgotten login shows',
  ),
  versionLogin: choice(
    ['open', 'wanted'],
    'whether the version of the GSQL server is told without a login, on 3.x and 4.x',
  ),
  restAuthOffOn4: choice(
    ['refuse', 'mint'],
    'what `/gsql/v1/tokens` does while REST authentication is off; a refusal is assumed',
  ),
  passwordMintOn4: choice(
    ['makes-secret', 'makes-none'],
    'whether a token minted by password makes a secret `AUTO_GENERATED_ALIAS_…` (documented; nobody has shown one)',
  ),
  tokensOn40: choice(
    ['as-4.1', 'as-3.11'],
    'what a server 4.0 has: the paths of 4.1, or `/requesttoken` and no `/gsql/v1/tokens` and `/gsql/v1/secrets`. No page describes 4.0',
  ),
  globalTokenGraph: choice(
    ['empty', 'absent'],
    'whether a JWT for all graphs has `"graph": ""` (a user of 4.2) or no such claim (samples in the docs)',
  ),
  fullBlockList: choice(['refuse', 'forget-oldest'], 'one more dropped token than the block list holds'),
  blockListLimit: number(20, '`GSQL.Token.DropLimit`'),
  maxLifetime: number(0, '`GSQL.MaxAuthTokenLifeTimeSec`; 0 is no limit, more is refused'),
  grantedAtMost: number(0, 'the seconds that a token lives at most, whatever is asked for; 0 is no limit'),
  trailersOn4: choice([false, true], '`__GSQL__` lines at the end of `/gsql/v1/statements`'),
  refreshExpirationBefore35: choice(['lifetime', 'epoch'], 'what a refresh says in `expiration` on 3.0–3.4'),
  zone: {
    initial: UTC,
    about: 'the zone of the date texts on 4.x',
    rule: '{"name": "UTC", "offsetMinutes": 0}',
    fits: isZone,
  },
  jwtSecret: choice(
    ['text', 'base64'],
    'whether the secret of `--jwt-key` is the HMAC key as it stands, or its base64: the sample in the docs is base64, and no page says who decodes it',
  ),
  closedGraph: {
    initial: '',
    about: 'a graph that exists and for which no JWT is taken; empty is none',
    rule: 'a text',
    fits: (value: unknown) => typeof value === 'string',
  },
};

type Table = typeof SWITCHES;
export type Switches = { [K in keyof Table]: Table[K]['initial'] };

export function initialSwitches(): Switches {
  const initial = Object.entries(SWITCHES).map(([name, one]) => [name, one.initial]);
  return Object.fromEntries(initial) as Switches;
}

/** Sets switches, all or none. Throws an Error with one clear sentence. */
export function setSwitches(switches: Switches, given: object): void {
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(SWITCHES, name) ? SWITCHES[name as keyof Switches] : undefined;
    if (!known) throw new Error(`There is no such switch: ${name}. GET /__sandbox/switches lists them.`);
    if (!known.fits(value)) throw new Error(`The switch ${name} can be ${known.rule}.`);
  }
  Object.assign(switches, given);
}
