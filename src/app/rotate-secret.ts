import { connect } from '../auth/connect.js';
import { isStoreRequired, stateDirOf } from '../auth/stores.js';
import { GraphException } from '../core/errors.js';
import type { Secret } from '../core/protocol/types.js';
import { maskSecret } from '../core/redact.js';
import { Sensitive } from '../core/sensitive.js';
import { acquireLock } from '../files/lock.js';
import { type Journal, openJournal } from '../store/journal.js';
import { noneStore, STORES } from '../store/store.js';
import type { Login } from './gsql-login.js';
import {
  deleteSavedSecret,
  isNamed,
  noteLivingTokens,
  revokeTokensOf,
  savedAs,
  savedByAlias,
  savedForOwner,
  saveSecret,
  tryStore,
} from './saved-secrets.js';

type StepName = 'next' | 'drop' | 'alias' | 'finish';

interface Step {
  readonly name: StepName;
  run(rotation: Rotation): Promise<void>;
  /** Says what is left to do when this step fails, where nothing is stored to go on from. */
  byHand(alias: string, next: string): string;
}

/**
 * The steps, each written down before it begins and safe to do twice. What is saved is deleted before the server drops
 * it, so the secret saved last always works.
 */
const STEPS: readonly Step[] = [
  {
    name: 'next',
    run: makeNext,
    byHand: (alias, next) => `drop it: graphcred secret drop ${next} --ignore-missing; ${alias} is as it was`,
  },
  {
    name: 'drop',
    run: (rotation) => drop(rotation, rotation.alias, rotation.progress.old),
    byHand: (alias, next) =>
      `${next} has the value that was printed; see which of ${alias} and ${next} there are: graphcred secret list; then make ${alias} if it is missing, and drop ${next}`,
  },
  {
    // A saved value of the alias is a new one from here on.
    name: 'alias',
    run: remake,
    byHand: (alias, next) =>
      `${next} has the value that was printed; make ${alias} anew, then drop ${next}: graphcred secret drop ${alias} --ignore-missing; graphcred secret create ${alias}; graphcred secret drop ${next}`,
  },
  {
    name: 'finish',
    run: finish,
    byHand: (alias, next) =>
      `${alias} has the value that was printed; drop the other: graphcred secret drop ${next} --ignore-missing`,
  },
];

/** How far a rotation has come. It holds only the masks that `secret list` shows, never a value. */
interface Progress {
  readonly step: StepName;
  /** When the rotation began, or last made `<alias>_next` anew, in seconds since 1970. */
  readonly atUnix?: number;
  /** The mask of the value that is to be replaced. */
  readonly old?: string;
  /** The mask of `<alias>_next`, once that secret exists. */
  readonly next?: string | undefined;
  /** Whether the value that is to be replaced was saved on this machine. */
  readonly wasSaved?: boolean;
  /** The id by which profiles name the secret, if it was saved. */
  readonly origin?: string | undefined;
}

/**
 * The lifetime of the token that proves a secret: long enough to delete it again, short in case it is left to expire.
 */
const PROOF_SECONDS = 300;
/** A rotation that is continued within this time may take an existing secret named `next` as its own. */
const RECENT_SECONDS = 600;

const SUFFIX = '_next';
const LONGEST_ALIAS = 128;

export interface RotateInput {
  readonly alias: string;
  /** Whether the tokens minted from the old value are revoked first. */
  readonly revoke: boolean;
  /** Told the secret that works, when the rotation fails and no store keeps it. */
  onUnsaved(name: string, value: Sensitive): void;
}

export interface Rotated {
  readonly value: Sensitive;
  /** Whether the new value is saved on this machine. */
  readonly isSaved: boolean;
  /** Whether the old one was. */
  readonly wasSaved: boolean;
  /** Whether tokens of the old value stay valid and no note has named them. */
  readonly leavesTokens: boolean;
}

/** A rotation under way. */
interface Rotation extends RotateInput {
  login: Login;
  /** The name of the secret that works meanwhile. */
  readonly next: string;
  readonly journal: Journal | undefined;
  readonly isNew: boolean;
  /** The step with which this run began. */
  readonly from: StepName;
  progress: Progress;
  /** The new value of the alias. */
  value?: Sensitive | undefined;
  /** Whether the tokens that outlive the old value were named. */
  hasToldTokens?: boolean;
  /** The secret that was made last. */
  made?: { readonly name: string; readonly value: Sensitive };
}

/**
 * Replaces the value of a secret, or continues a rotation that was interrupted.
 * @throws GraphException NOT_FOUND; ALREADY_EXISTS when another secret has the name `<alias>_next`; any other with what
 * to do to finish the rotation
 */
export async function rotateSecret(opened: Login, input: RotateInput): Promise<Rotated> {
  const { alias } = input;
  const login = await withUsableStore(opened, alias);
  const { call, store } = login;
  const next = `${alias.slice(0, LONGEST_ALIAS - SUFFIX.length)}${SUFFIX}`;
  // Without a store there is no journal. Then the server prevents a second run, because it refuses a second secret
  // named `next`.
  const journal = STORES[store.name].keeps.tokens ? journalOf(login, alias) : undefined;
  const lock = journal && (await acquireLock(journal.lockFile, call.timeoutMs + 5000));
  try {
    const pending = journal && pendingRotation(journal);
    if (pending) call.ports.reporter.note(`going on with a rotation of ${alias} that was not finished`);
    const progress = pending ?? (await firstProgress(login, alias, next));
    if (input.revoke) await revokeTokensOf(login, [{ alias, masked: progress.old }]);
    if (journal) await tryStore(call, store);
    call.interruption?.begin();
    const [isNew, from] = [pending === undefined, progress.step];
    const rotation: Rotation = { ...input, login, next, journal, isNew, from, progress };
    const value = await run(rotation);
    const leavesTokens = login.version.tokensOutliveSecret && !input.revoke && !rotation.hasToldTokens;
    return { value, isSaved: journal !== undefined, wasSaved: progress.wasSaved ?? false, leavesTokens };
  } finally {
    lock?.release();
  }
}

/**
 * Takes an absent keychain for the store `none`, unless it was named, or holds the secret or a step of its rotation.
 * @throws GraphException STORE_UNAVAILABLE
 */
async function withUsableStore(login: Login, alias: string): Promise<Login> {
  const { call, store } = login;
  if (!STORES[store.name].canAsk || isStoreRequired(call)) return login;
  try {
    await store.check();
    return login;
  } catch (error) {
    const isAbsent = error instanceof GraphException && error.code === 'STORE_UNAVAILABLE';
    const saved = await savedForOwner(login);
    const mayBeSaved = saved.some((record) => !isNamed(login, record) || record.info.alias === alias);
    if (!isAbsent || mayBeSaved || journalOf(login, alias).read() !== undefined) throw error;
    call.ports.reporter.warn(`${error.message}; the new value is not kept (${error.hint})`);
    return { ...login, store: noneStore };
  }
}

function journalOf({ call, credential, version }: Login, alias: string): Journal {
  const scope = version.secretsNeedGraph ? ` on graph ${call.graph}` : '';
  const key = `${alias} of ${credential.owner}${scope}, at ${call.target.gsqlUrl}`;
  return openJournal(stateDirOf(call), key);
}

/** Reads how far an earlier run came; undefined when no rotation is pending. */
function pendingRotation(journal: Journal): Progress | undefined {
  const text = journal.read();
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Progress;
  } catch {
    // The step is not known, so the rotation goes on from the secrets that are saved.
    return { step: 'next' };
  }
}

/**
 * Checks the aliases before a rotation begins.
 * @throws GraphException NOT_FOUND, ALREADY_EXISTS; nothing was changed
 */
async function firstProgress(login: Login, alias: string, next: string): Promise<Progress> {
  const listed = await login.connection.listSecrets();
  if (listed.some((one) => one.alias === next)) throw nameTaken(next, alias, '');
  const old = listed.find((one) => one.alias === alias);
  if (old === undefined) {
    throw new GraphException('NOT_FOUND', `There is no secret ${alias}.`, {
      hint: `see the names there are: graphcred secret list; or make it: graphcred secret create ${alias} --save`,
    });
  }
  const saved = (await savedByAlias(login, alias))[0] ?? (await savedAs(login, old))[0];
  return {
    step: 'next',
    atUnix: login.call.ports.now() / 1000,
    old: old.masked,
    wasSaved: saved !== undefined,
    origin: saved && String(saved.info.origin ?? saved.info.id),
  };
}

async function run(rotation: Rotation): Promise<Sensitive> {
  const { alias, login, journal } = rotation;
  const from = STEPS.findIndex(({ name }) => name === rotation.from);
  try {
    if (rotation.isNew) note(rotation, {});
    for (const [index, step] of STEPS.entries()) {
      // Until the alias has its new value, `next` logs in and is the secret that works, so it is looked at again.
      if (index < from && (step.name !== 'next' || rotation.from === 'finish')) continue;
      if (index > from) note(rotation, { step: step.name });
      // When the time is over, another run goes on. Without a store nobody could go on, so this run does not end.
      if (index > from && journal) login.call.learned.deadline?.check();
      await step.run(rotation);
    }
  } catch (error) {
    throw withNextStep(rotation, error);
  }
  if (rotation.value !== undefined) return rotation.value;
  throw new GraphException(
    'NOT_FOUND',
    `The new value of ${alias} is no longer in the ${login.store.name} store.`,
    { hint: `make another: graphcred secret rotate ${alias}` },
  );
}

/** Throws STORE_UNAVAILABLE. */
function note(rotation: Rotation, more: Partial<Progress>): void {
  rotation.progress = { ...rotation.progress, ...more };
  rotation.journal?.write(JSON.stringify(rotation.progress));
}

/** Adds to an error how to finish the rotation: by running it again, or by hand where nothing is stored. */
function withNextStep(rotation: Rotation, error: unknown): unknown {
  const { alias, next, onUnsaved } = rotation;
  const { step, next: made } = rotation.progress;
  // Nothing is left to go on with.
  if (rotation.journal && rotation.journal.read() === undefined) return error;
  // Without a store nothing else holds the value that works by now; in the first step that is still the old one.
  const unsaved = rotation.journal || step === 'next' ? undefined : rotation.made;
  if (unsaved) onUnsaved(unsaved.name, unsaved.value);
  if (!(error instanceof GraphException) || error.code === 'ALREADY_EXISTS') return error;
  const { code, message, ambiguous } = error;
  if (rotation.journal) {
    const fix = code === 'CANCELLED' ? '' : 'fix the error, then ';
    const hint = `the rotation of ${alias} is not finished; ${fix}run it again to resume: graphcred secret rotate ${alias}`;
    return new GraphException(code, message, { hint });
  }
  const failed = unsaved?.name === alias ? 'finish' : step;
  const hint =
    step === 'next' && made === undefined && !ambiguous
      ? `nothing was changed; fix the error, then run it again: graphcred secret rotate ${alias}`
      : STEPS.find(({ name }) => name === failed)?.byHand(alias, next);
  return new GraphException(code, message, { hint });
}

/** Makes, saves and proves the secret `<alias>_next`. */
async function makeNext(rotation: Rotation): Promise<void> {
  await logInWith(rotation, await (rotation.isNew ? makeFirst(rotation) : ensureNext(rotation)));
}

async function makeFirst(rotation: Rotation): Promise<Sensitive> {
  const { alias, login, next } = rotation;
  // A leftover of an earlier rotation must not be confused with the new secret.
  await deleteSavedSecret(login, { alias: next }, await savedByAlias(login, next));
  try {
    return await make(rotation, next);
  } catch (error) {
    if (!(error instanceof GraphException) || error.ambiguous || rotation.progress.next !== undefined)
      throw error;
    // No secret was created, so the note is removed; otherwise a later run would take it for created.
    rotation.journal?.remove();
    throw error.code === 'ALREADY_EXISTS' ? nameTaken(next, alias) : error;
  }
}

async function ensureNext(rotation: Rotation): Promise<Sensitive> {
  const { alias, next } = rotation;
  const saved = await working(rotation, next);
  if (saved !== undefined) {
    // A damaged note does not hold the mask, by which the secret is recognized when it is dropped at the end.
    note(rotation, { next: maskSecret(saved.reveal()) });
    return saved;
  }
  const there = await listed(rotation, next);
  if (there !== undefined) {
    if (!(await isOurs(rotation, there))) throw nameTaken(next, alias);
    await drop(rotation, next, there.masked);
    // The mask belongs to the dropped secret: it would not fit the next one, whose answer may get lost too.
    note(rotation, { next: undefined, atUnix: rotation.login.call.ports.now() / 1000 });
  }
  return make(rotation, next);
}

/** Whether a secret named `next` was probably made by this rotation. */
async function isOurs(rotation: Rotation, { masked }: Secret): Promise<boolean> {
  const { next: made, atUnix = 0, old } = rotation.progress;
  if (made !== undefined) return masked === made;
  // The secret was made by a request whose answer got lost, unless another rotation has changed the alias meanwhile.
  const age = rotation.login.call.ports.now() / 1000 - atUnix;
  const isRecent = age >= 0 && age < RECENT_SECONDS;
  return isRecent && old !== undefined && (await listed(rotation, rotation.alias))?.masked === old;
}

/**
 * Makes, saves and proves the alias anew. If a secret with this name exists, its value is unknown, so it is dropped
 * first.
 */
async function remake(rotation: Rotation): Promise<void> {
  const { alias } = rotation;
  const isResumed = rotation.from === 'alias';
  rotation.value = isResumed ? await working(rotation, alias) : undefined;
  if (isResumed && rotation.value === undefined) await drop(rotation, alias);
  rotation.value ??= await make(rotation, alias);
  await logInWith(rotation, rotation.value);
}

/** Deletes `<alias>_next` here, and drops it on the server. */
async function finish(rotation: Rotation): Promise<void> {
  const { next, alias, login } = rotation;
  if (rotation.from === 'finish') {
    rotation.value = await savedValue(rotation, alias);
    await logInWith(rotation, rotation.value);
  }
  const there = rotation.isNew ? undefined : await listed(rotation, next);
  if (there !== undefined && there.masked !== rotation.progress.next) {
    login.call.ports.reporter.warn(`another secret has the name ${next} now; it is left as it is`);
    await deleteSavedSecret(login, { alias: next }, await savedByAlias(login, next));
  } else await drop(rotation, next);
  rotation.journal?.remove();
}

async function make(rotation: Rotation, name: string): Promise<Sensitive> {
  const { alias, next } = rotation;
  const { call, connection, credential, store } = rotation.login;
  const value = new Sensitive(await connection.createSecret(name));
  // The mask is written before the value is saved, so that a lost value can be recognized.
  if (name === next) note(rotation, { next: maskSecret(value.reveal()) });
  const { origin } = rotation.progress;
  const rotationOf = name === next ? { rotationOf: alias } : {};
  await saveSecret(call, store, { alias: name, savedFor: credential, value, origin, ...rotationOf });
  rotation.made = { name, value };
  await prove(rotation, value);
  return value;
}

async function prove({ login }: Rotation, secret: Sensitive): Promise<void> {
  const { call, connection, version } = login;
  const { token } = await connection.mintToken({ secret, lifetime: PROOF_SECONDS });
  // 4.x remembers only 20 deleted tokens, so there this one is left to expire.
  if (version.revocationFillsBlockList) return;
  await connection
    .deleteToken(secret, { token: new Sensitive(token), skipNA: true })
    .catch(() =>
      call.ports.reporter.warn(`a trial token could not be deleted; it ends in ${PROOF_SECONDS} s`),
    );
}

/**
 * Returns the saved secret of this name, if it works. A server that throttles logins refuses it too; that is an
 * error, and nothing is dropped.
 */
async function working(rotation: Rotation, name: string): Promise<Sensitive | undefined> {
  const value = await savedValue(rotation, name);
  if (value === undefined) return undefined;
  try {
    await prove(rotation, value);
    return value;
  } catch (error) {
    if (!(error instanceof GraphException) || error.code !== 'AUTH_FAILED') throw error;
    if ((await listed(rotation, name))?.masked === maskSecret(value.reveal())) throw error;
    return undefined;
  }
}

async function drop(rotation: Rotation, name: string, masked?: string): Promise<void> {
  const { login, alias } = rotation;
  const known = await savedByAlias(login, name);
  const secret = { alias: name, masked };
  await deleteSavedSecret(login, secret, known);
  const { failed } = await login.connection.dropSecrets([name]);
  if (failed) throw failed.error;
  // Another process that had the old value may have minted from it since, so its tokens are deleted too.
  await deleteSavedSecret(login, secret, known);
  if (name === alias) rotation.hasToldTokens = await noteLivingTokens(login, secret, known);
}

async function savedValue(rotation: Rotation, name: string): Promise<Sensitive | undefined> {
  const [record] = await savedByAlias(rotation.login, name);
  return record && rotation.login.store.read(record);
}

async function listed({ login }: Rotation, name: string): Promise<Secret | undefined> {
  return (await login.connection.listSecrets()).find((one) => one.alias === name);
}

/** Logs in with this secret if the login is a secret of one's own, because the one used before may be dropped. */
async function logInWith(rotation: Rotation, value: Sensitive | undefined): Promise<void> {
  const { login } = rotation;
  const { call, credential } = login;
  if (value === undefined || credential.kind !== 'secret' || call.secretsOf !== undefined) return;
  const { connection } = await connect(call, { ...credential, value: async () => value });
  rotation.login = { ...login, connection };
}

function nameTaken(
  next: string,
  alias: string,
  wait = `: wait, and look whether ${next} is gone (graphcred secret list)`,
): GraphException {
  return new GraphException('ALREADY_EXISTS', `The name ${next} is needed, and a secret has it.`, {
    hint: `another machine may be rotating ${alias}${wait}; if ${alias} is there and nobody uses ${next}: graphcred secret drop ${next}`,
  });
}
