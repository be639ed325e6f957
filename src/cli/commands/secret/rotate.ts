import { isPlainAlias, type Login, openLogin } from '../../../app/gsql-login.js';
import { rotate, STEPS } from '../../../app/rotate-secret.js';
import {
  type Progress,
  pendingRotation,
  type RotationNotes,
  rotationNotes,
} from '../../../app/rotation-notes.js';
import {
  isListedAs,
  revokeTokensOf,
  savedByAlias,
  savedForOwner,
  tryStore,
} from '../../../app/saved-secrets.js';
import { stateDirOf } from '../../../auth/stores.js';
import { GraphException } from '../../../core/errors.js';
import type { Sensitive } from '../../../core/sensitive.js';
import { type Journal, openJournal } from '../../../store/journal.js';
import { acquireLock } from '../../../store/lock/lock.js';
import { STORES, type Store } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { inLines } from '../../output/report.js';
import { openSession } from '../../session.js';

const LONGEST_ALIAS = 128;

/** Runs `graphcred secret rotate`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { report, flags } = invocation;
  const alias = invocation.args[0] as string;
  if (!isPlainAlias(alias)) {
    throw new GraphException('USAGE', 'A secret of this name cannot be made anew, so it is not rotated.', {
      hint: 'make one under a plain name, then drop this: graphcred secret create NAME --save',
    });
  }
  const suffix = '_next';
  const next = `${alias.slice(0, LONGEST_ALIAS - suffix.length)}${suffix}`;
  const login = await openLogin(await openSession(invocation, { isStepwise: true }));
  const { call, store, version } = login;
  // Without a store there is no journal. Then the server prevents a second run, because it refuses a second secret
  // named `next`.
  const journal = STORES[store.name].keeps.tokens ? journalOf(login, alias) : undefined;
  const lock = journal && (await acquireLock(journal.lockFile, { waitMs: call.timeoutMs + 5000 }));
  const { value, progress } = await rotateNoted(invocation, login, journal, { alias, next }).finally(() =>
    lock?.release(),
  );
  if (journal) printSaved(invocation, { name: alias, value }, store, progress);
  else {
    if (!report.json) report.note(`secret ${alias} has a new value; this is the only time it is shown`);
    const failure = printOnly(invocation, { name: alias, value });
    if (failure) throw failure;
  }
  if (version.tokensOutliveSecret && flags.revoke !== true)
    report.note(`tokens minted from the old value of ${alias} stay valid until they expire`);
}

/**
 * Begins a rotation, or goes on with the one that is noted.
 * @param journal undefined without a store; then a value that works is printed when the rotation fails
 */
async function rotateNoted(
  invocation: Invocation,
  login: Login,
  journal: Journal | undefined,
  { alias, next }: { alias: string; next: string },
): Promise<{ value: Sensitive; progress: Progress }> {
  const { report, flags } = invocation;
  const keeps = journal !== undefined;
  let notes: RotationNotes | undefined;
  let made: Made | undefined;
  try {
    const pending = journal && pendingRotation(journal);
    if (pending) report.note(`going on with a rotation of ${alias} that was not finished`);
    if (flags.revoke === true) await revokeTokensOf(login, [{ alias }]);
    const progress = pending ?? (await firstProgress(login, alias, next));
    if (keeps) await tryStore(login.call, login.store);
    invocation.interruption?.begin();
    notes = rotationNotes(journal, progress);
    const onValue = (name: string, value: Sensitive) => {
      made = { name, value };
    };
    const value = await rotate(login, notes, { alias, next, onValue });
    return { value, progress: notes.read() };
  } catch (error) {
    // Nothing was begun, or the notes are gone because nothing is left to go on with.
    if (notes === undefined || (journal && journal.read() === undefined)) throw error;
    const { step } = notes.read();
    // Without a store nothing else holds the value that works by now; in the first step that is still the old one.
    const lost = keeps || step === 'next' ? undefined : made;
    if (lost) printOnly(invocation, lost);
    throw withNextStep(error, { alias, next, keeps, isMade: lost?.name === alias }, notes.read());
  }
}

/** Says that the new value is saved, and prints it if the old one was not saved or `--print` is given. */
function printSaved(
  { ctx, report, flags }: Invocation,
  { name, value }: Made,
  store: Store,
  { wasSaved }: Progress,
): void {
  const show = flags.print === true || !wasSaved;
  if (report.json) report.document({ alias: name, saved: true, ...(show && { secret: value.reveal() }) });
  else if (show) {
    report.note(
      `secret ${name} has a new value, saved in the ${store.name} store; this is the only time it is shown`,
    );
    report.result(value.reveal());
  } else {
    const done = `Secret ${name} has a new value, saved in the ${store.name} store.`;
    report.result(inLines(done, ctx.stdout.columns));
  }
}

interface Made {
  readonly name: string;
  readonly value: Sensitive;
}

/**
 * Prints a value that is saved nowhere: on stderr, when stdout cannot take it.
 * @returns the error of stdout
 */
function printOnly({ ctx, report }: Invocation, { name, value }: Made): GraphException | undefined {
  const secret = value.reveal();
  try {
    if (report.json) report.document({ alias: name, saved: false, secret }, true);
    else report.result(secret, true);
    if (ctx.stdout.isNull)
      report.warn(
        `the value of ${name} went to the null device and is lost; make another: graphcred secret rotate ${name} --print`,
      );
    return undefined;
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    ctx.stderr.write(`${secret}\n`);
    return new GraphException(error.code, error.message, {
      hint: `the value of the secret ${name} is the line before, and is shown nowhere else`,
    });
  }
}

function journalOf({ call, credential, version }: Login, alias: string): Journal {
  const scope = version.secretsNeedGraph === false ? '' : ` on graph ${call.graph}`;
  const key = `${alias} of ${credential.owner}${scope}, at ${call.target.gsqlUrl}`;
  return openJournal(stateDirOf(call), 'rotate', key);
}

/**
 * Checks the aliases before a rotation begins.
 * @throws GraphException NOT_FOUND, ALREADY_EXISTS; nothing was changed
 */
async function firstProgress(login: Login, alias: string, next: string): Promise<Progress> {
  const listed = await login.connection.listSecrets();
  if (listed.some((one) => one.alias === next)) {
    throw new GraphException('ALREADY_EXISTS', `The name ${next} is needed, and a secret has it.`, {
      hint: `another machine may be rotating ${alias}; if nobody uses it: graphcred secret drop ${next}`,
    });
  }
  const old = listed.find((one) => one.alias === alias);
  if (old === undefined) {
    throw new GraphException('NOT_FOUND', `There is no secret ${alias}.`, {
      hint: `see the names there are: graphcred secret list; or make it: graphcred secret create ${alias} --save`,
    });
  }
  let [saved] = await savedByAlias(login, alias);
  for (const record of await savedForOwner(login))
    if (saved === undefined && (await isListedAs(login, record, old))) saved = record;
  const id = saved?.info.origin ?? saved?.info.id;
  const origin = id === undefined ? {} : { origin: String(id) };
  const atUnix = login.call.ports.now() / 1000;
  return { step: 'next', isNew: true, atUnix, old: old.masked, wasSaved: saved !== undefined, ...origin };
}

/** Adds to an error how to finish an interrupted rotation: by running it again, or by hand where nothing is stored. */
function withNextStep(
  error: unknown,
  { alias, next, keeps, isMade }: { alias: string; next: string; keeps: boolean; isMade: boolean },
  { step, next: made }: Progress,
): unknown {
  if (!(error instanceof GraphException) || error.code === 'ALREADY_EXISTS') return error;
  const isUntouched = step === 'next' && made === undefined && !error.ambiguous;
  const byHand = isUntouched
    ? `nothing was changed; fix the error, then run it again: graphcred secret rotate ${alias}`
    : STEPS[isMade ? 'finish' : step].byHand(alias, next);
  const hint = keeps
    ? `the rotation of ${alias} is not finished; ${error.code === 'CANCELLED' ? '' : 'fix the error, then '}run it again to resume: graphcred secret rotate ${alias}`
    : byHand;
  return new GraphException(error.code, error.message, { hint });
}
