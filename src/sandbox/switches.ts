/** Behaviour on which the sources disagree, or that depends on the settings of a real server; the values by default. */
export const SWITCHES = {
  /** The answer of `GET /gsql/v1/secrets`: a list as pyTigerGraph reads it, or one object as in the docs. */
  secretsShape: 'list' as 'list' | 'object',
  /**
   * While the user `tigergraph` has the password `tigergraph`, a request without any login is that user's (documented for
   * 3.9 and 4.2; pyTigerGraph 1.7 deletes tokens so). Off here, so that a forgotten login shows.
   */
  defaultPassword: 'login' as 'login' | 'no-login',
  /** What `/gsql/v1/tokens` does while REST authentication is off; assumed. */
  restAuthOffOn4: 'refuse' as 'refuse' | 'mint',
  /** Whether a token minted by password makes a secret `AUTO_GENERATED_ALIAS_…` (documented; nobody has shown one). */
  passwordMintOn4: 'makes-secret' as 'makes-secret' | 'makes-none',
  /** One more dropped token than the block list holds. */
  fullBlockList: 'refuse' as 'refuse' | 'forget-oldest',
  /** `GSQL.Token.DropLimit`. */
  blockListLimit: 20,
  /** `GSQL.MaxAuthTokenLifeTimeSec` of 3.x: more is refused. */
  maxLifetime: Number.POSITIVE_INFINITY,
  /** The seconds that a token lives at most, whatever is asked for. */
  grantedAtMost: Number.POSITIVE_INFINITY,
  /** The zone of the date texts on 4.x. */
  zone: { name: 'UTC', offsetMinutes: 0 },
  /** A graph that exists and for which no JWT is taken; empty is none. */
  closedGraph: '',
};

export type Switches = typeof SWITCHES;
