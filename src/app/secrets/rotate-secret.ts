import { isUnread, savedCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { secretId } from '../../auth/credential.js';
import { expected, type Fix, GraphException, usageError } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { acquireLock } from '../../files/lock.js';
import type { Run } from '../../run/run.js';
import { aliasOf, ownerOf } from '../../store/ownership.js';
import { entryPath, newestFirst } from '../../store/records.js';
import { STORES, type StoreName } from '../../store/store.js';
import { type Login, openLogin } from '../gsql-login.js';
import { dropOne } from './drop-secrets.js';
import {
  forgetDropped,
  type Listed,
  revokeTokensOf,
  savedAs,
  savedForServer,
  saveSecret,
  tryStore,
} from './saved-secrets.js';

/** The lifetime of the token that proves a secret: long enough to delete it again, short in case it is left to expire. */
const PROOF_SECONDS = 300;

interface RotateInput {
  readonly alias: string;
  /** Whether the tokens minted from the old value are revoked first. */
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
    const { login, rotation } = await findFrom(first, alias, next);
    if (rotation.origin === undefined) requireOutput();
    if (rotation.begun) run.ports.reporter.note(`resuming the unfinished rotation of "${alias}"`);
    if (revoke && !rotation.renewed) await revokeTokensOf(login, [rotation.old]);
    run.ports.interruption.begin();
    const meanwhile = rotation.begun ?? (await make(login, rotation, next));
    const value = await finish(login, rotation, meanwhile);
    show(value, rotation.origin === undefined ? undefined : store.name);
    if (rotation.origin !== undefined) return;
    for (const { key, info } of await savedForServer(login))
      if (info.id === secretId(value)) await store.delete(key);
  } finally {
    lock?.release();
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

type Rotation = Awaited<ReturnType<typeof findRotation>>;

/**
 * Finds out where a rotation stands, from what the server lists and what is saved here. `begun` and `renewed` are the
 * values of `next` and of the alias that an earlier run has made. `origin` is the id by which profiles name the secret;
 * undefined when the old value was not saved here.
 */
async function findRotation(login: Login, alias: string, next: string) {
  const listed = await login.connection.listSecrets();
  const present = listed.find((one) => one.alias === alias);
  const other = listed.find((one) => one.alias === next);
  const begun = await savedInRotation(login, alias, other);
  if (begun) {
    const { replaces: masked = '', origin } = begun.record.info;
    const renewed = present?.masked === masked ? undefined : await savedInRotation(login, alias, present);
    return { old: { alias, masked }, next, origin, begun: begun.value, renewed: renewed?.value };
  }
  if (other) {
    const why = `The rotation needs the name "${next}", but another secret has it.`;
    const when = `another machine may be rotating; if "${alias}" still exists and nobody uses "${next}"`;
    throw new GraphException('ALREADY_EXISTS', why, { hint: [when, { command: `secret drop ${next}` }] });
  }
  if (!present)
    throw new GraphException('NOT_FOUND', `No such secret: ${alias}.`, {
      hint: ['see the secrets', { command: 'secret list' }],
    });
  // A value with the mark of a rotation was to be deleted at its end.
  const saved = (await savedAs(login, [present])).find(({ info }) => info.rotationOf === undefined);
  const origin = saved && (saved.info.origin ?? saved.info.id);
  return { old: present, next, origin };
}

/** Finds the saved value of a secret that may be of this alias's rotation. The mask proves that it is this secret's. */
async function savedInRotation(login: Login, rotated: string, secret: Listed | undefined) {
  for (const record of await savedForServer(login)) {
    const { alias } = record.info;
    if (alias !== secret?.alias || aliasOf(record) !== rotated) continue;
    const value = await login.store.get(record);
    // The keychain gets a value after its record, so a run that was killed in between leaves the record alone.
    if (value === undefined && !STORES[login.store.name].canBeLocked)
      throw new GraphException(
        'STORE_UNAVAILABLE',
        `The saved value of "${alias}", from an unfinished rotation of "${rotated}", cannot be read.`,
        { hint: ['put the old store key back; if that is lost', { command: `secret drop ${alias}` }] },
      );
    if (value && maskSecret(value.reveal()) === secret?.masked)
      return { record, value: new Sensitive(value.reveal(), `"${alias}"`) };
  }
  return undefined;
}

/** Makes a secret, and saves it with what another run needs to know to go on. */
async function make(login: Login, rotation: Rotation, name: string): Promise<Sensitive> {
  const { run, connection } = login;
  const { old, next, origin } = rotation;
  const value = new Sensitive(await connection.createSecret(name), `"${name}"`);
  const mark = name === next || origin === undefined ? { rotationOf: old.alias, replaces: old.masked } : {};
  await saveSecret(login, value, { alias: name, origin, ...mark }).catch(async (error) => {
    // Nobody can use it.
    await connection.dropSecret(name).catch(() => {});
    throw error;
  });
  run.ports.reporter.did(`made and saved the secret "${name}"`);
  return value;
}

/** Does the steps that are left, once `<alias>_next` is saved. */
async function finish(login: Login, rotation: Rotation, meanwhile: Sensitive) {
  const { old, next, begun, renewed } = rotation;
  const { version, run } = login;
  // When the time is over, another run goes on. Each run does at least one step.
  const checkTime = () => run.time.deadline.check();
  try {
    let current = login;
    let value = renewed;
    if (value === undefined) {
      current = await proven(current, meanwhile);
      if (!begun) checkTime();
      await drop(current, old);
      if (version.tokensOutliveSecret)
        run.ports.reporter.note(
          `tokens made from the old value of "${old.alias}" that are not stored here stay valid until they expire`,
        );
      value = await make(current, rotation, old.alias);
    }
    current = await proven(current, value);
    if (!renewed) checkTime();
    await drop(current, { alias: next, masked: maskSecret(meanwhile.reveal()) });
    return value;
  } catch (error) {
    const { code, message, fix } = expected(error);
    const resume = `the rotation of "${old.alias}" is not finished; to go on with it`;
    const hint = [...fix, resume, { command: `secret rotate ${old.alias}` }];
    throw new GraphException(code, message, { hint });
  }
}

/**
 * Mints a token from a secret that is saved.
 * @returns the login to go on with: by this secret, if it is by a secret, for the one used before may be dropped
 */
async function proven(login: Login, secret: Sensitive): Promise<Login> {
  const { run, connection, credential, version } = login;
  const { token } = await connection.mintToken({ secret, lifetime: PROOF_SECONDS });
  // 4.x remembers only 20 deleted tokens, so there this one is left to expire.
  if (!version.revocationFillsBlockList)
    await connection
      .deleteToken(secret, { token: new Sensitive(token), skipNA: true })
      .catch(() =>
        run.ports.reporter.warn(
          `a token that tested the new value was not deleted; it expires by itself in ${PROOF_SECONDS} s`,
        ),
      );
  if (credential.kind !== 'secret') return login;
  return { ...login, ...(await connect(run, { ...credential, read: async () => secret })) };
}

/** Drops a secret, and deletes what is saved of it once the server has confirmed that it is gone. */
async function drop(login: Login, secret: Listed): Promise<void> {
  await dropOne(login, secret.alias);
  await forgetDropped(login, secret);
}
