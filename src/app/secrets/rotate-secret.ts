import { isUnread, savedCredential } from '../../auth/choose.js';
import { secretId } from '../../auth/credential.js';
import type { Run } from '../../auth/run.js';
import { requireKeeping } from '../../auth/stores.js';
import { expected, type Fix, GraphException, usageError } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { acquireLock } from '../../files/lock.js';
import { ownerOf } from '../../store/ownership.js';
import { entryPath, newestFirst } from '../../store/records.js';
import { STORES, type StoreName } from '../../store/store.js';
import { type Login, openLogin } from '../gsql-login.js';
import { findRotation, finish, make } from './rotation.js';
import { revokeTokensOf, savedForServer, tryStore } from './saved-secrets.js';

export interface RotateInput {
  readonly alias: string;
  /** Whether the tokens minted from the old value are revoked first. */
  readonly revoke: boolean;
  /** Called before anything is made whose value is shown because the old one is not saved here. Throws where it would be lost. */
  requireOutput(): void;
  /**
   * Receives the new value while it is saved, and the store that keeps it. If the old one was not saved, the new one is
   * deleted here afterwards.
   */
  show(value: Sensitive, keptIn: StoreName | undefined): void;
}

/**
 * Replaces the value of a secret, or finishes a rotation that was broken off. A secret is dropped only while another one
 * is saved that has minted a token.
 * @throws GraphException USAGE without a store; NOT_FOUND; ALREADY_EXISTS when `<alias>_next` is not saved here
 */
export async function rotateSecret(run: Run, { alias, revoke, requireOutput, show }: RotateInput) {
  // An alias has 128 characters at most.
  const short = alias.slice(0, 123);
  const next = `${short}_next` === alias ? `${short}_then` : `${short}_next`;
  const store = await run.stores.chosen();
  const isKept = STORES[store.name].keeps.credentials && run.settings.secretsOf === undefined;
  const key = `rotation of ${alias}, at ${run.target.gsqlUrl}`;
  const file = isKept && entryPath(run.stores.requireFolder('stateDir'), 'secret', key, 'lock');
  // Before the login, which may be by the secret that another process is rotating.
  const lock = file && (await acquireLock(file, run.time.limitMs + 5000));
  try {
    const first = await openLogin(run);
    requireStore(first, alias, next);
    await tryStore(run, store);
    const { login, rotation } = await findFrom(first, alias, next);
    if (rotation.origin === undefined) requireOutput();
    if (rotation.begun) run.ports.reporter.note(`resuming the unfinished rotation of ${alias}`);
    if (revoke && !rotation.renewed) await revokeTokensOf(login, [rotation.old]);
    run.ports.interruption.begin();
    const meanwhile = rotation.begun ?? (await make(login, rotation, next));
    const value = await finish(login, rotation, meanwhile);
    show(value, rotation.origin === undefined ? undefined : store.name);
    if (rotation.origin !== undefined) return;
    for (const { key, info } of await savedForServer(login))
      if (info.id === secretId(value)) await store.delete(key);
  } finally {
    if (lock) lock.release();
  }
}

/**
 * Finds out where the rotation stands. Where the server refuses the secret that logs in, an earlier run may have dropped
 * it: then with the value that this has saved last for the same owner.
 */
async function findFrom(login: Login, alias: string, next: string) {
  const { run, store, version, credential } = login;
  const refused = await findRotation(login, alias, next).catch(expected);
  if (!(refused instanceof GraphException)) return { login, rotation: refused };
  const mayBeDropped = refused.code === 'AUTH_FAILED' && credential.kind === 'secret' && version.secretLogsIn;
  const [begun] = (mayBeDropped ? await savedForServer(login) : [])
    .filter(({ info }) => info.rotationOf === alias && info.unfinished !== 'write')
    .filter((record) => ownerOf(record) === credential.owner)
    .sort(newestFirst);
  if (begun === undefined) throw refused;
  const resumed = await openLogin(run, await savedCredential(run, { store, record: begun }));
  const rotation = await findRotation(resumed, alias, next).catch((error) => {
    throw isUnread(expected(error)) ? refused : error;
  });
  return { login: resumed, rotation };
}

/** Throws USAGE, with the steps to do by hand. */
function requireStore({ run, store }: Login, alias: string, next: string): void {
  const steps: readonly Fix[] = [
    'by hand',
    { command: `secret create ${next}` },
    'replace the old value by the new one, then',
    { command: `secret drop ${alias}` },
    { command: `secret create ${alias}` },
    'replace the old value by the new one, then',
    { command: `secret drop ${next}` },
  ];
  if (run.settings.secretsOf !== undefined)
    throw usageError('A secret of another user is never saved here, so it cannot be rotated.', steps);
  requireKeeping(store.name, 'secret rotate', steps);
}
