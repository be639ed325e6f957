import { findCredential, ownerOfLabel } from '../auth/choose.js';
import { connect } from '../auth/connect.js';
import { settingText } from '../config/settings.js';
import { expected, GraphException } from '../core/errors.js';
import { readClaims } from '../core/protocol/reply.js';
import { maskLogin } from '../core/redact.js';
import { tokenFromVariable } from '../run/read.js';
import type { Run } from '../run/run.js';
import { knownVersion, serversInForce } from '../run/server.js';
import { STORES, type Store, type StoreName } from '../store/store.js';
import { type TokenAtHand, tokenAtHand } from './tokens/check-token.js';

type StatusText = 'gsqlUrl' | 'restUrl' | 'graph' | 'username' | 'provider' | 'serverVersion' | 'storeNote';

/** What is known of a profile. `storeNote` says who shares or has chosen the store, or why it cannot be used. */
export interface Status extends Readonly<Partial<Record<StatusText, string | undefined>>> {
  readonly profile: string;
  readonly chosenBy: string;
  /** The config file in force, unless it is that of the user, which `login` writes. */
  readonly file?: string | undefined;
  readonly host: string;
  readonly credential?: { readonly kind: string; readonly source: string } | undefined;
  readonly store: StoreName;
  readonly restAuth: 'on' | 'off' | 'unknown';
  /** Whether `TG_API_TOKEN` counts, which only `api` and `token check` use. */
  readonly hasVariable?: boolean;
  readonly state: 'valid' | 'expired' | 'rejected' | 'none' | 'unverified';
  readonly expiresAtUnix?: number | undefined;
  readonly otherLifetime?: number | undefined;
  readonly error?: GraphException | undefined;
}

export const UNKNOWN = {
  chosenBy: '--profile',
  host: '',
  store: 'none',
  restAuth: 'unknown',
  state: 'none',
} as const;

/** Finds out what a run would use, and whether the server accepts its token; when it is offline the server is not asked. */
export async function findStatus(run: Run, isOffline: boolean): Promise<Status> {
  const store = await run.stores.chosen();
  let status = describeSettings(run, store);
  const unasked = new GraphException('NETWORK', 'The version is not known, and the server is not asked.');
  if (isOffline) {
    const known = knownVersion(run);
    run.asked.version = known ? Promise.resolve(known) : Promise.reject(unasked);
    run.asked.version.catch(() => {});
  }
  try {
    const found = await findCredential(run, 'mint', { saved: store }).catch((error) => {
      // That there is none is no error here, and at a provider nobody may be logged in.
      if (['INPUT_REQUIRED', 'AUTH_FAILED'].includes(expected(error).code)) return undefined;
      throw error;
    });
    const credential = found?.level === 'prompt' ? undefined : found;
    const username = credential?.username ?? status.username;
    const source = credential && { kind: credential.kind, source: credential.label };
    status = { ...status, username, credential: source };
    status = { ...status, ...(await serversInForce(run)) };
    const owner = found ?? ownerOfLabel(run);
    const token = owner && (await tokenAtHand(run, store, owner));
    const nowUnix = run.ports.now() / 1000;
    const { expiresAtUnix, otherLifetime } = token ?? {};
    const state = expiresAtUnix === undefined ? 'none' : expiresAtUnix <= nowUnix ? 'expired' : 'unverified';
    status = { ...status, expiresAtUnix, otherLifetime, state };
    return isOffline ? status : await askServer(run, status, state === 'none' ? undefined : token);
  } catch (error) {
    return error === unasked ? status : { ...status, error: expected(error) };
  }
}

function describeSettings(run: Run, store: Store): Status {
  const { settings, target, stores } = run;
  const recorded = stores.inForce.isRecorded ? ', chosen at login (login --store changes it)' : '';
  return {
    ...UNKNOWN,
    profile: settings.profile.name,
    chosenBy: settings.profile.source,
    file: settings.file?.place === 'user' ? undefined : settings.file?.path,
    host: target.host,
    gsqlUrl: target.gsqlUrl,
    restUrl: target.restUrl,
    graph: settings.graph,
    username: settings.username,
    provider: maskLogin(settingText(settings, 'oidc.issuer') ?? '') || undefined,
    hasVariable: tokenFromVariable(run) !== undefined,
    store: store.name,
    storeNote: STORES[store.name].isShared
      ? ` at ${maskLogin(settingText(settings, 'redis.url') ?? '')}`
      : recorded,
    serverVersion: knownVersion(run)?.version,
  };
}

async function askServer(run: Run, local: Status, atHand: TokenAtHand | undefined): Promise<Status> {
  const { connection, version } = await connect(run, undefined);
  const restAuth = await connection.restAuthentication();
  const asked = { ...local, serverVersion: version.version, restAuth };
  // A server that requires no token cannot say whether one is valid.
  if (restAuth === 'off' || local.state === 'expired') return asked;
  const held = await atHand?.read();
  if (held === undefined) return { ...asked, expiresAtUnix: undefined, state: 'none' };
  const { token, expiresAtUnix } = held;
  const { refusal } = await connection.checkToken(token);
  const isJwt = local.credential?.kind === 'jwt';
  // Of a job's JWT, and of a program's, the user is not known before it is read.
  const sub = isJwt ? readClaims(token)?.sub : undefined;
  if (!refusal) return { ...asked, expiresAtUnix, username: local.username ?? sub, state: 'valid' };
  await atHand?.forget?.(token);
  // A new JWT is refused for the same reason, unless somebody mends it.
  const error = isJwt && refusal.code === 'AUTH_FAILED' ? refusal : undefined;
  return { ...asked, expiresAtUnix, state: 'rejected', error };
}
