import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import type { Journal } from '../store/journal.js';
import { connect } from './connect.js';
import type { LoggedIn } from './login.js';
import { forgetSecret, savedUnder, saveSecret } from './saved.js';

// The steps, each written down before it begins and safe to do twice:
//   next    the secret <alias>_next is made, saved and proved
//   drop    the old value of <alias> is forgotten here and dropped on the server
//   alias   the secret <alias> is made, saved and proved; a saved value of it is a new one from here on
//   finish  <alias>_next is forgotten here and dropped on the server
// What is saved is forgotten before the server drops it, so the secret saved last always works.

/** Long enough to be deleted again, short enough to be no loss on servers where that is better not done. */
const PROOF_SECONDS = 300;

/** Gives `alias` a new value, going on from the step in the journal. */
export async function rotate(login: LoggedIn, journal: Journal, alias: string, next: string): Promise<void> {
  const { session, credential, store, version } = login;
  const { report } = session.call;
  const username = credential.username;
  let { connection } = login;
  // To stop between two steps helps nobody, so each of them has the whole time for itself.
  session.timeLeft.ms = Number.POSITIVE_INFINITY;

  const savedOf = (name: string) => savedUnder(login, name);

  /** A dropped secret logs nobody in: where a secret is the login, it has to be one that lives. */
  const logInWith = async (value: Sensitive) => {
    if (credential.kind === 'secret')
      ({ connection } = await connect(session, { ...credential, value: async () => value }, true));
  };

  const drop = async (name: string) => {
    await forgetSecret(login, name);
    const { failed } = await connection.dropSecrets([name]);
    if (failed) throw failed.error;
    // Somebody who still had the value may have minted from it meanwhile.
    await forgetSecret(login, name);
  };

  const prove = async (secret: Sensitive) => {
    const { token } = await connection.mintToken({ secret, lifetime: PROOF_SECONDS });
    // 4.x remembers only 20 deleted tokens, so this one is left to end by itself there.
    if (version.generation === 'C') return;
    await connection
      .deleteToken(secret, { token: new Sensitive(token), skipNA: true })
      .catch(() => report.warn(`a trial token could not be deleted; it ends in ${PROOF_SECONDS} s`));
  };

  /** A secret of this name that is saved and works: the one there is, else a new one. */
  const ensure = async (name: string): Promise<Sensitive> => {
    const [record] = savedOf(name);
    const kept = record && (await store.read(record));
    if (kept) {
      try {
        await prove(kept);
        return kept;
      } catch (error) {
        if (!(error instanceof GraphException) || error.code !== 'AUTH_FAILED') throw error;
      }
    }
    // Whatever has the name by now, nobody knows its value.
    await drop(name);
    const value = new Sensitive(await connection.createSecret(name));
    await saveSecret(session, store, { alias: name, username, value });
    await prove(value);
    return value;
  };

  const step = journal.read();
  const past = (name: string) => STEPS.indexOf(step ?? '') > STEPS.indexOf(name);
  if (step === undefined) {
    // Left over from another time: it must not be taken for the one about to be made.
    await forgetSecret(login, next);
    journal.write('next');
  }
  if (!past('alias')) {
    // The login of this call may be the very secret that an earlier run has dropped.
    const [record] = past('next') ? savedOf(next) : [];
    const kept = record && (await store.read(record));
    if (kept) await logInWith(kept);
    await logInWith(await ensure(next));
    if (!past('next')) journal.write('drop');
    if (!past('drop')) {
      await drop(alias);
      journal.write('alias');
    }
    await logInWith(await ensure(alias));
    journal.write('finish');
  } else {
    const [record] = savedOf(alias);
    const kept = record && (await store.read(record));
    if (kept) await logInWith(kept);
  }
  await drop(next);
  journal.remove();
}

const STEPS = ['next', 'drop', 'alias', 'finish'];
