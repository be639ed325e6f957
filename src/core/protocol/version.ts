/** Named after the first version of each: 3.0 to 3.4, 3.5 to 3.11, 4.x. */
export type Generation = '3.0' | '3.5' | '4';

/** The differences between versions. Callers check these capabilities and never compare version numbers. */
export interface Capabilities {
  /** A token can be given a new life. */
  readonly canRefresh: boolean;
  /** Secrets, and tokens minted by password, belong to a graph, which has to be named. */
  readonly secretsNeedGraph: boolean;
  /** A secret logs in at the service server, so that secret commands need no password. */
  readonly secretLogsIn: boolean;
  /** Dropping a secret leaves the tokens minted from it alive. */
  readonly tokensOutliveSecret: boolean;
  /** Two mints of one lifetime within one second give the same token. */
  readonly sameTokenWithinOneSecond: boolean;
  /** A mint by password makes the server create a secret with a generated alias. */
  readonly mintByPasswordCreatesSecret: boolean;
  /** A revoked token takes a place on the user's block list, which is small. */
  readonly revocationFillsBlockList: boolean;
  /** The unit of the lifetime is disputed: seconds or milliseconds. */
  readonly lifetimeUnitVaries: boolean;
  /** The GSQL server passes requests below `/restpp` on to the REST server, which has no open port of its own. */
  readonly restBehindGsql: boolean;
}

/** The version of a server, with what such servers can do (`canRefresh` and others). */
export interface ServerVersion extends Capabilities {
  /** Which protocol the server speaks. */
  readonly generation: Generation;
  /** As the server reported it, for example `3.10.1`; `3` or `4` when only that much is known. */
  readonly version: string;
}

const CAPABILITIES_3: Capabilities = {
  canRefresh: true,
  secretsNeedGraph: true,
  secretLogsIn: false,
  tokensOutliveSecret: false,
  sameTokenWithinOneSecond: false,
  mintByPasswordCreatesSecret: false,
  revocationFillsBlockList: false,
  lifetimeUnitVaries: false,
  restBehindGsql: false,
};

const CAPABILITIES_4: Capabilities = {
  canRefresh: false,
  secretsNeedGraph: false,
  secretLogsIn: true,
  tokensOutliveSecret: true,
  sameTokenWithinOneSecond: true,
  mintByPasswordCreatesSecret: true,
  revocationFillsBlockList: true,
  lifetimeUnitVaries: true,
  restBehindGsql: true,
};

/** What the servers of each generation can do. */
export const CAPABILITIES: Readonly<Record<Generation, Capabilities>> = {
  '3.0': CAPABILITIES_3,
  '3.5': CAPABILITIES_3,
  '4': CAPABILITIES_4,
};
