import { connect } from '../auth/connect.js';
import { GraphException } from '../core/errors.js';
import type { Secret } from '../core/protocol/types.js';
import { maskSecret } from '../core/redact.js';
import { Sensitive } from '../core/sensitive.js';
import { STORES, type StoreRecord } from '../store/store.js';
import type { Login } from './gsql-login.js';
import type { Progress, RotationNotes } from './rotation-notes.js';
import { forgetSecret, noteLivingTokens, savedByAlias, saveSecret } from './saved-secrets.js';

/**
 * The steps, each written down before it begins and safe to do twice. What is saved is forgotten before the server drops
 * it, so the secret saved last always works. `byHand` says what is left to do where nothing is stored to go on from.
 */
export const STEPS: Readonly<Record<Progress['step'], { byHand(alias: string, next: string): string }>> = {
  /** The secret `<alias>_next` is made, saved and proved. */
  next: {
    byHand: (alias, next) => `drop it: graphcred secret drop ${next} --ignore-missing; ${alias} is as it was`,
  },
  /** The old value of the alias is forgotten here and dropped on the server. */
  drop: {
    byHand: (alias, next) =>
      `${next} has the value that was printed; see which of ${alias} and ${next} there are: graphcred secret list; then make ${alias} if it is missing, and drop ${next}`,
  },
  /** The secret is made, saved and proved. A saved value of the alias is a new one from here on. */
  alias: {
    byHand: (alias, next) =>
      `${next} has the value that was printed; make ${alias} anew, then drop ${next}: graphcred secret drop ${alias} --ignore-missing; graphcred secret create ${alias}; graphcred secret drop ${next}`,
  },
  /** `<alias>_next` is forgotten here and dropped on the server. */
  finish: {
    byHand: (alias, next) =>
      `${alias} has the value that was printed; drop the other: graphcred secret drop ${next} --ignore-missing`,
  },
};
const ORDER = Object.keys(STEPS) as Progress['step'][];

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
export function rotate(login: Login, notes: RotationNotes, target: RotationTarget): Promise<Sensitive> {
  return new Rotation(login, notes, target).run();
}

class Rotation {
  readonly #login: Login;
  readonly #notes: RotationNotes;
  readonly #target: RotationTarget;
  #connection: Login['connection'];

  constructor(login: Login, notes: RotationNotes, target: RotationTarget) {
    this.#login = login;
    this.#notes = notes;
    this.#target = target;
    this.#connection = login.connection;
  }

  async run(): Promise<Sensitive> {
    const { alias } = this.#target;
    const { step, isNew } = this.#notes.read();
    const steps = ORDER.slice(ORDER.indexOf(step));
    let value: Sensitive | undefined;
    // Until the alias has its new value, `next` logs in and is the secret that works.
    if (step === 'finish') value = await this.#savedValue(alias);
    else await this.#logInWith(isNew ? await this.#begin() : await this.#ensureNext());
    for (const name of steps) {
      if (name !== step) this.#enter(name);
      if (name === 'drop') await this.#drop(alias, this.#notes.read().old);
      if (name === 'alias') value = await this.#remake(name === step);
      if (name === 'alias' || step === 'finish') await this.#logInWith(value);
    }
    await this.#finish(isNew === true);
    if (value !== undefined) return value;
    throw new GraphException(
      'NOT_FOUND',
      `The new value of ${alias} is no longer in the ${this.#login.store.name} store.`,
      { hint: `make another: graphcred secret rotate ${alias}` },
    );
  }

  /**
   * Writes down that the next step begins. When the time is over, the rotation ends here, and another run goes on; but
   * without a store nobody could go on, so it does not end.
   */
  #enter(step: Progress['step']): void {
    const { call, store } = this.#login;
    this.#notes.add({ step });
    if (STORES[store.name].keeps.tokens) call.learned.deadline?.check();
  }

  async #begin(): Promise<Sensitive> {
    const { alias, next } = this.#target;
    // A leftover of an earlier rotation must not be confused with the new secret.
    await this.#forget(next, await savedByAlias(this.#login, next));
    try {
      return await this.#make(next);
    } catch (error) {
      if (!(error instanceof GraphException) || error.ambiguous || this.#notes.read().next !== undefined)
        throw error;
      // No secret was created, so the note is removed; otherwise a later run would take it for created.
      this.#notes.remove();
      throw error.code === 'ALREADY_EXISTS' ? nameTaken(next, alias) : error;
    }
  }

  async #ensureNext(): Promise<Sensitive> {
    const { alias, next } = this.#target;
    const saved = await this.#working(next);
    if (saved !== undefined) {
      // A damaged note does not hold the mask, by which the secret is recognized when it is dropped at the end.
      this.#notes.add({ next: maskSecret(saved.reveal()) });
      return saved;
    }
    const there = await this.#listed(next);
    if (there !== undefined) {
      if (!(await this.#isOurs(there))) throw nameTaken(next, alias);
      await this.#drop(next, there.masked);
      // The mask belongs to the dropped secret: it would not fit the next one, whose answer may get lost too.
      this.#notes.add({ next: undefined, atUnix: Math.floor(this.#nowUnix()) });
    }
    return this.#make(next);
  }

  /** Whether a secret named `next` was probably made by this rotation. */
  async #isOurs({ masked }: Secret): Promise<boolean> {
    const { next: made, atUnix = 0, old } = this.#notes.read();
    if (made !== undefined) return masked === made;
    // The secret was made by a request whose answer got lost, unless another rotation has changed the alias meanwhile.
    const age = this.#nowUnix() - atUnix;
    const isRecent = age >= 0 && age < RECENT_SECONDS;
    return isRecent && old !== undefined && (await this.#listed(this.#target.alias))?.masked === old;
  }

  /** Makes the alias anew. If a secret with this name exists, its value is unknown, so it is dropped first. */
  async #remake(isResumed: boolean): Promise<Sensitive> {
    const { alias } = this.#target;
    const saved = isResumed ? await this.#working(alias) : undefined;
    if (saved !== undefined) return saved;
    if (isResumed) await this.#drop(alias);
    return this.#make(alias);
  }

  async #finish(isNew: boolean): Promise<void> {
    const { next } = this.#target;
    const there = isNew ? undefined : await this.#listed(next);
    if (there !== undefined && there.masked !== this.#notes.read().next) {
      this.#login.call.ports.reporter.warn(`another secret has the name ${next} now; it is left as it is`);
      await this.#forget(next, await savedByAlias(this.#login, next));
    } else await this.#drop(next);
    this.#notes.remove();
  }

  async #make(name: string): Promise<Sensitive> {
    const { alias, next, onValue } = this.#target;
    const { call, credential, store } = this.#login;
    const value = new Sensitive(await this.#connection.createSecret(name));
    // The mask is written before the value is saved, so that a lost value can be recognized.
    if (name === next) this.#notes.add({ next: maskSecret(value.reveal()) });
    const { origin } = this.#notes.read();
    const rotationOf = name === next ? { rotationOf: alias } : {};
    await saveSecret(call, store, { alias: name, savedFor: credential, value, origin, ...rotationOf });
    onValue(name, value);
    await this.#prove(value);
    return value;
  }

  async #prove(secret: Sensitive): Promise<void> {
    const { call, version } = this.#login;
    const { token } = await this.#connection.mintToken({ secret, lifetime: PROOF_SECONDS });
    // 4.x remembers only 20 deleted tokens, so there this one is left to expire.
    if (version.revocationFillsBlockList) return;
    await this.#connection
      .deleteToken(secret, { token: new Sensitive(token), skipNA: true })
      .catch(() =>
        call.ports.reporter.warn(`a trial token could not be deleted; it ends in ${PROOF_SECONDS} s`),
      );
  }

  /**
   * Returns the saved secret of this name, if it works. A server that throttles logins refuses it too; that is an
   * error, and nothing is dropped.
   */
  async #working(name: string): Promise<Sensitive | undefined> {
    const value = await this.#savedValue(name);
    if (value === undefined) return undefined;
    try {
      await this.#prove(value);
      return value;
    } catch (error) {
      if (!(error instanceof GraphException) || error.code !== 'AUTH_FAILED') throw error;
      if ((await this.#listed(name))?.masked === maskSecret(value.reveal())) throw error;
      return undefined;
    }
  }

  async #drop(name: string, masked?: string): Promise<void> {
    const known = await savedByAlias(this.#login, name);
    await this.#forget(name, known, masked);
    const { failed } = await this.#connection.dropSecrets([name]);
    if (failed) throw failed.error;
    // Another process that had the old value may have minted from it since, so its tokens are deleted too.
    const living = await this.#forget(name, known);
    if (name === this.#target.alias) noteLivingTokens(this.#login, name, living);
  }

  #forget(alias: string, known: readonly StoreRecord[], masked?: string) {
    return forgetSecret(this.#login, { alias, masked }, known);
  }

  async #savedValue(name: string): Promise<Sensitive | undefined> {
    const [record] = await savedByAlias(this.#login, name);
    return record && this.#login.store.read(record);
  }

  async #listed(name: string): Promise<Secret | undefined> {
    return (await this.#connection.listSecrets()).find((one) => one.alias === name);
  }

  /** Logs in with this secret if the login is a secret of one's own, because the one used before may be dropped. */
  async #logInWith(value: Sensitive | undefined): Promise<void> {
    const { call, credential } = this.#login;
    if (value !== undefined && credential.kind === 'secret' && call.secretsOf === undefined)
      ({ connection: this.#connection } = await connect(call, { ...credential, value: async () => value }));
  }

  #nowUnix(): number {
    return this.#login.call.ports.now() / 1000;
  }
}

function nameTaken(next: string, alias: string): GraphException {
  return new GraphException('ALREADY_EXISTS', `The name ${next} is needed, and a secret has it.`, {
    hint: `another machine may be rotating ${alias}: wait, and look whether ${next} is gone (graphcred secret list); if nobody uses it: graphcred secret drop ${next}`,
  });
}
