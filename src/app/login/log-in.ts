import { sourcesInSettings } from '../../auth/credential.js';
import { type Hint, whyFailed } from '../../core/errors.js';
import type { Run } from '../../run/run.js';
import { STORES, type Store } from '../../store/store.js';
import { secretInstead, shortPath } from '../format.js';
import { tryStore } from '../secrets/save-credential.js';
import { keep, type Saved, savedHere, whatToKeep } from './keep.js';
import { writeOwnProfile } from './profile.js';
import { proveLogin } from './prove-login.js';

export interface LoggedIn extends Saved {
  readonly goesOnWith?: string | undefined;
  readonly file: string;
  readonly person?: { readonly username: string; readonly issuer: string };
  /** How to work without the password, where nothing is kept. */
  readonly advice?: Hint | undefined;
}

/** Logs in, saves what works without a password from then on, and writes the profile. */
export async function logIn(run: Run, store: Store, savePassword: boolean): Promise<LoggedIn> {
  const login = await proveLogin(run, store, savePassword);
  const { kind, level, label, username } = login.credential;
  // A secret that was saved before goes on to do the work of the password.
  const earlier = await savedHere(login);
  if (kind === 'password' && earlier !== undefined && earlier !== run.settings.secretAlias)
    run.ports.reporter.note(`tokens still come from the saved secret "${earlier}" of ${username}`);
  const save = await whatToKeep(login, savePassword, earlier);
  const saved = save ? await keep(login, save) : {};
  const secretAlias = saved.saved ?? earlier;
  const { file: before, profile } = run.settings;
  const isGiven = kind === 'secret' && level !== 'store';
  const isOfOther = before?.config.profiles.get(profile.name)?.username !== username;
  // A typed credential replaces the provider. A name under which this store has nothing saved counts no more.
  const isStale = isGiven || isOfOther || STORES[store.name].keeps.credentials;
  const dropped = isStale ? ['oidc', 'secretAlias'] : ['oidc'];
  const file = await writeOwnProfile(run, store, username, { secretAlias }, dropped);
  if (save !== undefined || secretAlias !== undefined) return { ...saved, goesOnWith: earlier, file };
  const next = [`next (needs ${label})`, { command: 'token get' }];
  if (kind === 'secret' || /variable$/i.test(level)) return { file, advice: next };
  return { file, advice: /^(flag|prompt)$/.test(level) ? await adviceUnsaved(store) : undefined };
}

async function adviceUnsaved(store: Store): Promise<Hint> {
  const isUsable = STORES[store.name].keeps.credentials && !(await whyFailed(store.check()));
  const orSave = isUsable ? [', or log in with --save-password'] : [];
  const instead = secretInstead(isUsable ? store.name : 'none');
  return ['the password is not kept; to work without typing it', ...instead, ...orSave];
}

/** Returns the store of a login, tested if something may be saved or it was typed. @param what names what must be saved; USAGE if it cannot be */
export async function usableStore(run: Run, what: string | undefined): Promise<Store> {
  const { ports, stores } = run;
  const { canPrompt, prompter, reporter } = ports;
  const { setAt } = stores.inForce;
  let store = await stores.chosen({ needed: true });
  const saves =
    canPrompt || what !== undefined || sourcesInSettings(run).some(({ kind }) => kind === 'secret');
  const isTested = STORES[store.name].keeps.credentials && (saves || setAt === 'flag');
  const failure = isTested ? await whyFailed(tryStore(run, store)) : undefined;
  if (failure) {
    if (!canPrompt || setAt !== undefined) throw failure;
    reporter.warn(failure.message);
    const place = shortPath(stores.stateDir ?? '', ports.home);
    const yes = await prompter.yes(`Save encrypted in ${place}? (No: save nothing)`, { proposed: true });
    store = await stores.open(yes ? 'file' : 'none', true);
  }
  if (what !== undefined) stores.requireKeeping(store.name, what);
  return store;
}
