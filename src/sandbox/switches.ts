/** Behaviour on which the sources disagree, or that depends on the settings of a real server. */
export interface Switches {
  secretsShape: 'list' | 'object';
  requestTokenOn4: 'served' | 'gone' | 'page';
  deleteWithoutLogin: 'default-password' | 'never';
  defaultPassword: 'login' | 'no-login';
  versionLogin: 'open' | 'wanted';
  restAuthOffOn4: 'refuse' | 'mint';
  passwordMintOn4: 'makes-secret' | 'makes-none';
  gsqlBodyOn4: 'plain' | 'decoded';
  tokensOn40: 'as-4.1' | 'as-3.11';
  globalTokenGraph: 'empty' | 'absent';
  plainTokensOn4: 'valid' | 'refused';
  fullBlockList: 'refuse' | 'forget-oldest';
  blockListLimit: number;
  maxLifetime: number;
  grantedAtMost: number;
  trailersOn4: boolean;
  refreshExpirationBefore35: 'lifetime' | 'epoch';
  zone: { readonly name: string; readonly offsetMinutes: number };
}

interface Switch<T> {
  readonly initial: T;
  /** The other values; absent where `shape` tells what is valid. */
  readonly others?: readonly T[];
  readonly shape?: Shape;
  /** The question, for docs/dev/sandbox.md. */
  readonly about: string;
}

interface Shape {
  readonly words: string;
  fits(value: unknown): boolean;
}

const WHOLE_NUMBER: Shape = {
  words: 'a whole number from 0 up',
  fits: (value) => Number.isInteger(value) && Number(value) >= 0,
};

const ZONE: Shape = {
  words: '{"name": "UTC", "offsetMinutes": 0}',
  fits(value) {
    const zone = value as Switches['zone'] | null;
    return typeof zone?.name === 'string' && Number.isInteger(zone.offsetMinutes);
  },
};

export const SWITCHES: { readonly [K in keyof Switches]: Switch<Switches[K]> } = {
  secretsShape: {
    initial: 'list',
    others: ['object'],
    about:
      'the answer of `GET /gsql/v1/secrets`: a list as pyTigerGraph reads it, or one object as in the docs',
  },
  requestTokenOn4: {
    initial: 'served',
    others: ['gone', 'page'],
    about:
      'whether 4.x still has `/requesttoken` (JDBC uses it), answers REST-1000, or 400 and a web page (Savanna)',
  },
  deleteWithoutLogin: {
    initial: 'default-password',
    others: ['never'],
    about:
      'pyTigerGraph 1.7 deletes tokens without login, and its tests pass on servers with the default account',
  },
  defaultPassword: {
    initial: 'login',
    others: ['no-login'],
    about:
      'while the user `tigergraph` has the password `tigergraph`, GSQL authentication is off (documented for 3.9 and 4.2): a request without any login is that user’s. Off here by default, so that a forgotten login shows',
  },
  versionLogin: {
    initial: 'open',
    others: ['wanted'],
    about: 'whether the version of the GSQL server is told without a login, on 3.x and 4.x',
  },
  restAuthOffOn4: {
    initial: 'refuse',
    others: ['mint'],
    about: 'what `/gsql/v1/tokens` does while REST authentication is off; a refusal is assumed',
  },
  passwordMintOn4: {
    initial: 'makes-secret',
    others: ['makes-none'],
    about:
      'whether a token minted by password makes a secret `AUTO_GENERATED_ALIAS_…` (documented; nobody has shown one)',
  },
  gsqlBodyOn4: {
    initial: 'plain',
    others: ['decoded'],
    about: 'whether `/gsql/v1/statements` takes its body as it is, or undoes URL encoding first as 3.x does',
  },
  tokensOn40: {
    initial: 'as-4.1',
    others: ['as-3.11'],
    about:
      'what a server 4.0 has: the paths of 4.1, or `/requesttoken` and no `/gsql/v1/tokens` and `/gsql/v1/secrets`. No page describes 4.0',
  },
  globalTokenGraph: {
    initial: 'empty',
    others: ['absent'],
    about:
      'whether a JWT for all graphs has `"graph": ""` (a user of 4.2) or no such claim (samples in the docs)',
  },
  plainTokensOn4: {
    initial: 'valid',
    others: ['refused'],
    about:
      'tokens that a 3.x server made, after the upgrade: valid to their end (documented). `--state` carries them over',
  },
  fullBlockList: {
    initial: 'refuse',
    others: ['forget-oldest'],
    about: 'one more dropped token than the block list holds',
  },
  blockListLimit: { initial: 20, shape: WHOLE_NUMBER, about: '`GSQL.Token.DropLimit`' },
  maxLifetime: {
    initial: 0,
    shape: WHOLE_NUMBER,
    about: '`GSQL.MaxAuthTokenLifeTimeSec`; 0 is no limit, more is refused',
  },
  grantedAtMost: {
    initial: 0,
    shape: WHOLE_NUMBER,
    about: 'the seconds that a token lives at most, whatever is asked for; 0 is no limit',
  },
  trailersOn4: {
    initial: false,
    others: [true],
    about: '`__GSQL__` lines at the end of `/gsql/v1/statements`',
  },
  refreshExpirationBefore35: {
    initial: 'lifetime',
    others: ['epoch'],
    about: 'what a refresh says in `expiration` on 3.0–3.4',
  },
  zone: {
    initial: { name: 'UTC', offsetMinutes: 0 },
    shape: ZONE,
    about: 'the zone of the date texts on 4.x',
  },
};

export function initialSwitches(): Switches {
  return Object.fromEntries(
    Object.entries(SWITCHES).map(([name, { initial }]) => [name, initial]),
  ) as unknown as Switches;
}

/** Sets switches, all or none. Throws an Error with one clear sentence. */
export function setSwitches(switches: Switches, given: object): void {
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(SWITCHES, name) ? SWITCHES[name as keyof Switches] : undefined;
    if (!known) throw new Error(`There is no such switch: ${name}. GET /__sandbox/switches lists them.`);
    const values: readonly unknown[] = [known.initial, ...(known.others ?? [])];
    if (known.shape ? !known.shape.fits(value) : !values.includes(value)) {
      throw new Error(`The switch ${name} can be ${known.shape?.words ?? values.join(', ')}.`);
    }
  }
  Object.assign(switches, given);
}
