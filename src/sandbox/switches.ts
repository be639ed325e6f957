/** Behaviour on which the sources disagree, or that depends on the settings of a real server; the values by default. */
export const SWITCHES = {
  /** The answer of `GET /gsql/v1/secrets`: a list as pyTigerGraph reads it, or one object as in the docs. */
  secretsShape: 'list' as 'list' | 'object',
  /** Whether 4.x still has `/requesttoken` (JDBC uses it), answers REST-1000, or 400 and a web page (Savanna). */
  requestTokenOn4: 'served' as 'served' | 'gone' | 'page',
  /**
   * While the user `tigergraph` has the password `tigergraph`, GSQL authentication is off (documented for 3.9 and 4.2):
   * a request without any login is that user's. pyTigerGraph 1.7 deletes tokens without one, and its tests pass on such
   * servers. Off here, so that a forgotten login shows.
   */
  defaultPassword: 'login' as 'login' | 'no-login',
  /** Whether the version of the GSQL server is told without a login, on 3.x and 4.x. */
  versionLogin: 'open' as 'open' | 'wanted',
  /** What `/gsql/v1/tokens` does while REST authentication is off; a refusal is assumed. */
  restAuthOffOn4: 'refuse' as 'refuse' | 'mint',
  /** Whether a token minted by password makes a secret `AUTO_GENERATED_ALIAS_…` (documented; nobody has shown one). */
  passwordMintOn4: 'makes-secret' as 'makes-secret' | 'makes-none',
  /** Whether a JWT for all graphs has `"graph": ""` (a user of 4.2) or no such claim (samples in the docs). */
  globalTokenGraph: 'empty' as 'empty' | 'absent',
  /** One more dropped token than the block list holds. */
  fullBlockList: 'refuse' as 'refuse' | 'forget-oldest',
  /** `GSQL.Token.DropLimit`. */
  blockListLimit: 20,
  /** `GSQL.MaxAuthTokenLifeTimeSec`; 0 is no limit, more is refused. */
  maxLifetime: 0,
  /** The seconds that a token lives at most, whatever is asked for; 0 is no limit. */
  grantedAtMost: 0,
  /** `__GSQL__` lines at the end of `/gsql/v1/statements`. */
  trailersOn4: false,
  /** What a refresh says in `expiration` on 3.0–3.4. */
  refreshExpirationBefore35: 'lifetime' as 'lifetime' | 'epoch',
  /** The zone of the date texts on 4.x. */
  zone: { name: 'UTC', offsetMinutes: 0 },
  /**
   * Whether the secret of `--jwt-key` is the HMAC key as it stands, or its base64: the sample in the docs is base64, and
   * no page says who decodes it.
   */
  jwtSecret: 'text' as 'text' | 'base64',
  /** A graph that exists and for which no JWT is taken; empty is none. */
  closedGraph: '',
};

export type Switches = typeof SWITCHES;
