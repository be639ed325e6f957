import { connect } from '../auth/connect.js';
import { GraphException } from '../core/errors.js';
import type { Secret } from '../core/protocol/types.js';
import { maskSecret } from '../core/redact.js';
import { Sensitive } from '../core/sensitive.js';
import { STORES, type StoreRecord } from '../store/store.js';
import type { Login } from './gsql-login.js';
import type { Progress, RotationNotes } from './rotation-notes.js';
import { forgetSecret, noteLivingTokens, savedByAlias, saveSecret } from './saved-secrets.js';

// The steps, each written down before it begins and safe to do twice:
//   next    the secret <alias>_next is made, saved and proved
//   drop    the old value of <alias> is forgotten here and dropped on the server
//   alias   the secret <alias> is made, saved and proved; a saved value of it is a new one from here on
//   finish  <alias>_next is forgotten here and dropped on the server
// What is saved is forgotten before the server drops it, so the secret saved last always works.

/**
 * The lifetime of the token that proves a secret: long enough to delete it again, short in case it is left to expire.
 */
const PROOF_SECONDS = 300;
/** A rotation that is continued within this time may take an existing secret named `next` as its own. */
const RECENT_SECONDS = 600;

interface RotationTarget {
  readonly alias: string;
  readonly next: string;
  /** Told each new value as soon as the server has made it. */
  onValue(name: string, value: Sensitive): void;
}

/**
 * Replaces the value of `alias`, or continues a rotation that was interrupted.
 * @returns the new value
 * @throws GraphException ALREADY_EXISTS when another secret is named `next`; nothing is changed then
 */
export async function rotate(
  login: Login,
  notes: RotationNotes,
  { alias, next, onValue }: RotationTarget,
): Promise<Sensitive> {
  const { call, credential, store, version } = login;
  const { reporter, now } = call.ports;
  let { connection } = login;

  /**
   * Writes down that the next step begins. When the time is over, the rotation ends here, and another run goes on; but
   * without a store nobody could go on, so it does not end.
   */
  const enter = (step: Progress['step']) => {
    notes.add({ step });
    if (STORES[store.name].keeps.tokens) call.learned.deadline?.check();
  };

  const savedValue = async (name: string) => {
    const [record] = await savedByAlias(login, name);
    return record && store.read(record);
  };

  const listed = async (name: string): Promise<Secret | undefined> =>
    (await connection.listSecrets()).find((one) => one.alias === name);

  /** Logs in with this secret if the login is a secret, because the one used before may be dropped. */
  const logInWith = async (value: Sensitive | undefined) => {
    if (value !== undefined && credential.kind === 'secret' && call.secretsOf === undefined)
      ({ connection } = await connect(call, { ...credential, value: async () => value }));
  };

  const forget = (name: string, known: readonly StoreRecord[], masked?: string) =>
    forgetSecret(login, { alias: name, masked }, known);

  const drop = async (name: string, masked?: string) => {
    const known = await savedByAlias(login, name);
    await forget(name, known, masked);
    const { failed } = await connection.dropSecrets([name]);
    if (failed) throw failed.error;
    // Another process that had the old value may have minted from it since, so its tokens are deleted too.
    const living = await forget(name, known);
    if (name === alias) noteLivingTokens(login, alias, living);
  };

  const prove = async (secret: Sensitive) => {
    const { token } = await connection.mintToken({ secret, lifetime: PROOF_SECONDS });
    // 4.x remembers only 20 deleted tokens, so there this one is left to expire.
    if (version.revocationFillsBlockList) return;
    await connection
      .deleteToken(secret, { token: new Sensitive(token), skipNA: true })
      .catch(() => reporter.warn(`a trial token could not be deleted; it ends in ${PROOF_SECONDS} s`));
  };

  const make = async (name: string): Promise<Sensitive> => {
    const value = new Sensitive(await connection.createSecret(name));
    // The mask is written before the value is saved, so that a lost value can be recognized.
    if (name === next) notes.add({ next: maskSecret(value.reveal()) });
    const { origin } = notes.read();
    const rotationOf = name === next ? { rotationOf: alias } : {};
    await saveSecret(call, store, { alias: name, savedFor: credential, value, origin, ...rotationOf });
    onValue(name, value);
    await prove(value);
    return value;
  };

  /**
   * Returns the saved secret of this name, if it works. A server that throttles logins refuses it too; that is an
   * error, and nothing is dropped.
   */
  const working = async (name: string): Promise<Sensitive | undefined> => {
    const value = await savedValue(name);
    if (value === undefined) return undefined;
    try {
      await prove(value);
      return value;
    } catch (error) {
      if (!(error instanceof GraphException) || error.code !== 'AUTH_FAILED') throw error;
      if ((await listed(name))?.masked === maskSecret(value.reveal())) throw error;
      return undefined;
    }
  };

  const ensureNext = async (): Promise<Sensitive> => {
    const saved = await working(next);
    if (saved !== undefined) {
      // A damaged note does not hold the mask, by which the secret is recognized when it is dropped at the end.
      notes.add({ next: maskSecret(saved.reveal()) });
      return saved;
    }
    const there = await listed(next);
    if (there !== undefined) {
      if (!(await isOurs(there, notes.read()))) throw nameTaken(next, alias);
      await drop(next, there.masked);
      // The mask belongs to the dropped secret: it would not fit the next one, whose answer may get lost too.
      notes.add({ next: undefined, atUnix: Math.floor(now() / 1000) });
    }
    return make(next);
  };

  /** Whether a secret named `next` was probably made by this rotation. */
  const isOurs = async ({ masked }: Secret, { next: made, atUnix = 0, old }: Progress): Promise<boolean> => {
    if (made !== undefined) return masked === made;
    // The secret was made by a request whose answer got lost, unless another rotation has changed the alias meanwhile.
    const age = now() / 1000 - atUnix;
    return age >= 0 && age < RECENT_SECONDS && old !== undefined && (await listed(alias))?.masked === old;
  };

  const begin = async (): Promise<Sensitive> => {
    // A leftover of an earlier rotation must not be confused with the new secret.
    await forget(next, await savedByAlias(login, next));
    try {
      return await make(next);
    } catch (error) {
      if (!(error instanceof GraphException) || error.ambiguous || notes.read().next !== undefined)
        throw error;
      // No secret was created, so the note is removed; otherwise a later run would take it for created.
      notes.remove();
      throw error.code === 'ALREADY_EXISTS' ? nameTaken(next, alias) : error;
    }
  };

  const { step, isNew } = notes.read();
  const past = (name: Progress['step']) => STEPS.indexOf(step) > STEPS.indexOf(name);
  let value: Sensitive | undefined;
  if (!past('alias')) {
    await logInWith(isNew ? await begin() : await ensureNext());
    if (!past('next')) enter('drop');
    if (!past('drop')) {
      await drop(alias, notes.read().old);
      enter('alias');
    }
    value = past('drop') ? await working(alias) : undefined;
    if (value === undefined) {
      // If a secret with this name exists, its value is unknown, so it is dropped and made again.
      if (past('drop')) await drop(alias);
      value = await make(alias);
    }
    await logInWith(value);
    enter('finish');
  } else {
    value = await savedValue(alias);
    await logInWith(value);
  }
  const there = isNew ? undefined : await listed(next);
  if (there !== undefined && there.masked !== notes.read().next) {
    reporter.warn(`another secret has the name ${next} now; it is left as it is`);
    await forget(next, await savedByAlias(login, next));
  } else await drop(next);
  notes.remove();
  if (value !== undefined) return value;
  throw new GraphException(
    'NOT_FOUND',
    `The new value of ${alias} is no longer in the ${store.name} store.`,
    {
      hint: `make another: graphcred secret rotate ${alias}`,
    },
  );
}

function nameTaken(next: string, alias: string): GraphException {
  return new GraphException('ALREADY_EXISTS', `The name ${next} is needed, and a secret has it.`, {
    hint: `another machine may be rotating ${alias}: wait, and look whether ${next} is gone (graphcred secret list); if nobody uses it: graphcred secret drop ${next}`,
  });
}

const STEPS: readonly Progress['step'][] = ['next', 'drop', 'alias', 'finish'];
