import { connect } from '../../auth/connect.js';
import { secretId } from '../../auth/credential.js';
import { expected, type Fix, GraphException, usageError } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { MADE_HERE, Sensitive } from '../../core/sensitive.js';
import { acquireLock } from '../../files/lock.js';
import type { Run } from '../../run/run.js';
import { entryPath } from '../../store/records.js';
import type { StoreName } from '../../store/store.js';
import { type Login, openLogin } from '../gsql-login.js';
import { dropOne } from './drop-secrets.js';
import { forgetterOf, revokeTokensOf } from './minted-tokens.js';
import { findRotation, type Rotation } from './rotation.js';
import { saveSecret, tryStore } from './save-credential.js';
import { type Listed, savedForServer } from './saved-secrets.js';

/** The lifetime of the token that proves a secret: long enough to delete it again, short in case it is left to expire. */
const PROOF_SECONDS = 300;

interface RotateInput {
  readonly alias: string;
  readonly revoke: boolean;
  /** Called before anything is made whose value is shown because the old one is not saved here. Throws where it would be lost. */
  requireOutput(): void;
  /** Receives the new value while it is saved, and the store, unless it is deleted there because the old one was not saved. */
  show(value: Sensitive, keptIn: StoreName | undefined): void;
}

/** Replaces the value of a secret, or finishes that. One is dropped only while another is saved that has minted a token. */
export async function rotateSecret(run: Run, { alias, revoke, requireOutput, show }: RotateInput) {
  // An alias has 128 characters at most.
  const short = alias.slice(0, 123);
  const next = `${short}_next` === alias ? `${short}_then` : `${short}_next`;
  const store = await run.stores.chosen();
  const byHand: readonly Fix[] = [
    'by hand',
    { command: `secret create ${next}` },
    'put the new value where the old one is used, then',
    { command: `secret drop ${alias}` },
  ];
  run.stores.requireKeeping(store.name, 'secret rotate', byHand);
  const key = `rotation of ${alias}, at ${run.target.gsqlUrl}`;
  const file = entryPath(run.stores.requireFolder('stateDir'), 'secret', key, 'lock');
  // Before the login, which may be by the secret that another process is rotating.
  const lock = await acquireLock(file, run.time.limitMs + 5000);
  try {
    const first = await openLogin(run);
    if (run.settings.secretsOf !== undefined)
      throw usageError('A secret of another user is never saved here, so it cannot be rotated.', byHand);
    await tryStore(run, store);
    const { login, rotation } = await findRotation(first, alias, next);
    if (rotation.origin === undefined) requireOutput();
    if (rotation.begun) run.ports.reporter.note(`resuming the unfinished rotation of "${alias}"`);
    if (revoke && !rotation.renewed) await revokeTokensOf(login, [rotation.old]);
    run.ports.interruption.begin();
    const value = await finish(login, rotation);
    show(value, rotation.origin === undefined ? undefined : store.name);
    if (rotation.origin !== undefined) return;
    for (const one of await savedForServer(login))
      if (one.record.info.id === secretId(value)) await one.store.delete(one.record.key);
  } finally {
    lock?.release();
  }
}

async function make(login: Login, rotation: Rotation, name: string): Promise<Sensitive> {
  const { run, connection } = login;
  const { old, next, origin } = rotation;
  const value = new Sensitive(await connection.createSecret(name), `"${name}" ${MADE_HERE}`);
  const mark = name === next || origin === undefined ? { rotationOf: old.alias, replaces: old.masked } : {};
  await saveSecret(login, value, { alias: name, origin, ...mark }).catch(async (error) => {
    // Nobody can use it.
    await connection.dropSecret(name).catch(() => {});
    throw error;
  });
  run.ports.reporter.did(`made and saved the secret "${name}"`);
  return value;
}

async function finish(login: Login, rotation: Rotation): Promise<Sensitive> {
  const { old, next, begun, renewed } = rotation;
  const { version, run } = login;
  let meanwhile = begun;
  /** Whether the old value still works, and the new one is used nowhere. */
  let isUnused = begun === undefined;
  // When the time is over, another run goes on. Each run does at least one step.
  const checkTime = () => run.time.deadline.check();
  try {
    meanwhile ??= await make(login, rotation, next);
    let current = login;
    let value = renewed;
    if (value === undefined) {
      current = await proven(current, meanwhile);
      if (!begun) checkTime();
      isUnused = false;
      await dropListed(current, old);
      const end = version.tokensOutliveSecret ? 'elsewhere stay valid until they expire' : 'have ended';
      run.ports.reporter.note(`tokens made from the old value of "${old.alias}" ${end}`);
      value = await make(current, rotation, old.alias);
    }
    current = await proven(current, value);
    if (!renewed) checkTime();
    await dropListed(current, { alias: next, masked: maskSecret(meanwhile.reveal()) });
    return value;
  } catch (error) {
    const { code, message, fix, ambiguous, retryable } = expected(error);
    if (meanwhile === undefined && !ambiguous) throw error;
    const lost = `a secret "${next}" may have been made, but its value is lost; drop it`;
    const drop = { command: `secret drop ${next} --ignore-missing` };
    const again = [
      ...(meanwhile ? [] : [lost, drop]),
      ...(code === 'AUTH_FAILED' && isUnused
        ? [`or drop "${next}" and begin again`, drop]
        : ['to finish it']),
      { command: `secret rotate ${old.alias}` },
    ];
    const why = `The rotation of "${old.alias}" is not finished: ${message}`;
    throw new GraphException(code, why, { hint: retryable ? again : [...fix, ...again] });
  }
}

/** Mints a token from a saved secret. Returns a login by this secret, if it was by one: the old one may be dropped. */
async function proven(login: Login, secret: Sensitive): Promise<Login> {
  const { run, connection, credential, version } = login;
  const { token } = await connection.mintToken({ secret, lifetime: PROOF_SECONDS });
  // 4.x remembers only 20 deleted tokens, so there this one is left to expire.
  if (!version.revocationFillsBlockList)
    await connection.deleteToken(secret, { token: new Sensitive(token), skipNA: true }).catch((error) => {
      const may = expected(error).ambiguous ? 'may not be' : 'was not';
      const left = `a token made to test the new value ${may} deleted; it expires by itself in`;
      run.ports.reporter.warn(`${left} ${PROOF_SECONDS} s`);
    });
  if (credential.kind !== 'secret') return login;
  return { ...login, ...(await connect(run, { ...credential, read: async () => secret })) };
}

/** Drops a secret, and deletes what is saved of it once the server has confirmed that it is gone. */
async function dropListed(login: Login, secret: Listed): Promise<void> {
  const forget = await forgetterOf(login, secret);
  await dropOne(login, secret.alias);
  await forget();
}
