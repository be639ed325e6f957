import { connect } from '../../auth/connect.js';
import { expected, GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Login } from '../gsql-login.js';
import { dropOne } from './drop-secrets.js';
import { forgetDropped, type Listed, savedAs, savedInRotation, saveSecret } from './saved-secrets.js';

/** The lifetime of the token that proves a secret: long enough to delete it again, short in case it is left to expire. */
const PROOF_SECONDS = 300;

/** Where a rotation stands. */
export interface Rotation {
  /** The secret whose value is replaced. */
  readonly old: Listed;
  /** The name of the secret that works meanwhile. */
  readonly next: string;
  /** The id by which profiles name the secret; undefined when the old value was not saved here. */
  readonly origin: string | undefined;
  /** The values of `next` and of the alias that an earlier run has made. */
  readonly begun?: Sensitive;
  readonly renewed?: Sensitive | undefined;
}

/** Finds out where a rotation stands, from what the server lists and what is saved here. */
export async function findRotation(login: Login, alias: string, next: string): Promise<Rotation> {
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
    const why = `The rotation needs the name ${next}, but another secret has it.`;
    const when = `another machine may be rotating ${alias}; if ${alias} still exists and nobody uses ${next}`;
    throw new GraphException('ALREADY_EXISTS', why, { hint: [when, { command: `secret drop ${next}` }] });
  }
  if (!present)
    throw new GraphException('NOT_FOUND', `No such secret: ${alias}.`, {
      hint: ['see the secrets', { command: 'secret list' }],
    });
  // A value with the mark of a rotation was to be deleted at its end.
  const saved = (await savedAs(login, present)).find(({ info }) => info.rotationOf === undefined);
  const origin = saved && (saved.info.origin ?? saved.info.id);
  return { old: present, next, origin };
}

/** Makes a secret, and saves it with what another run needs to know to go on. */
export async function make(login: Login, rotation: Rotation, name: string): Promise<Sensitive> {
  const { run, connection } = login;
  const { old, next, origin } = rotation;
  const value = new Sensitive(await connection.createSecret(name));
  const mark = name === next || origin === undefined ? { rotationOf: old.alias, replaces: old.masked } : {};
  try {
    await saveSecret(login, value, { alias: name, origin, ...mark });
    run.ports.reporter.did(`made and saved the secret ${name}`);
    return value;
  } catch (error) {
    // Nobody can use it.
    await connection.dropSecrets([name]).catch(() => {});
    throw error;
  }
}

/** Does the steps that are left, once `<alias>_next` is saved. */
export async function finish(login: Login, rotation: Rotation, meanwhile: Sensitive) {
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
          `tokens minted elsewhere from the old value of ${old.alias} stay valid until they expire`,
        );
      value = await make(current, rotation, old.alias);
    }
    current = await proven(current, value);
    if (!renewed) checkTime();
    await drop(current, { alias: next, masked: maskSecret(meanwhile.reveal()) });
    return value;
  } catch (error) {
    const { code, message } = expected(error);
    const when = code === 'CANCELLED' ? '' : 'once the cause is fixed, ';
    const hint = `the rotation of ${old.alias} is not finished; ${when}run it again to resume`;
    throw new GraphException(code, message, { hint: [hint, { command: `secret rotate ${old.alias}` }] });
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
        run.ports.reporter.warn(`a test token could not be deleted; it expires in ${PROOF_SECONDS} s`),
      );
  if (credential.kind !== 'secret') return login;
  return { ...login, ...(await connect(run, { ...credential, read: async () => secret })) };
}

/** Drops a secret, and deletes what is saved of it once the server has confirmed that it is gone. */
async function drop(login: Login, secret: Listed): Promise<void> {
  await dropOne(login, secret.alias);
  await forgetDropped(login, secret);
}
