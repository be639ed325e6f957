import { GraphException } from '../../../core/errors.js';
import { openJournal } from '../../../store/journal.js';
import { acquireLock } from '../../../store/lock.js';
import { isPlainAlias } from '../../alias.js';
import type { Call } from '../../call.js';
import { loggedIn } from '../../login.js';
import { requireKeeping } from '../../require.js';
import { rotate } from '../../rotation.js';
import { tryStore } from '../../saved.js';

const LONGEST_ALIAS = 128;

/** `graphcred secret rotate` */
export async function run(call: Call): Promise<undefined> {
  const { report } = call;
  const alias = call.args[0] as string;
  if (!isPlainAlias(alias)) {
    throw new GraphException('USAGE', 'A secret of this name cannot be made anew, so it is not rotated.', {
      hint: 'make one under a plain name, then drop this: graphcred secret create NAME --save',
    });
  }
  const suffix = '_next';
  const next = `${alias.slice(0, LONGEST_ALIAS - suffix.length)}${suffix}`;
  const login = await loggedIn(call);
  const { session, connection, credential, store, version } = login;
  requireKeeping(store, 'secret rotate');
  const scope = version.generation === 'C' ? '' : ` on graph ${session.graph}`;
  const key = `${alias} of ${credential.username ?? ''}${scope}, at ${session.target.gsqlUrl}`;
  const journal = openJournal(session.stateDir, 'rotate', key);
  const lock = await acquireLock(journal.lockFile, { waitMs: session.timeoutMs + 5000 });
  try {
    if (journal.read() === undefined) {
      const listed = new Set((await connection.listSecrets()).map((secret) => secret.alias));
      if (!listed.has(alias)) {
        throw new GraphException('NOT_FOUND', `There is no secret ${alias}.`, {
          hint: `see the names there are: graphcred secret list; or make it: graphcred secret create ${alias} --save`,
        });
      }
      if (listed.has(next)) {
        throw new GraphException('ALREADY_EXISTS', `The name ${next} is needed, and a secret has it.`, {
          hint: `if nobody uses it: graphcred secret drop ${next}`,
        });
      }
    } else report.note(`going on with a rotation of ${alias} that was not finished`);
    await tryStore(session, store);
    await rotate(login, journal, alias, next);
  } finally {
    lock.release();
  }
  if (report.json) report.document({ alias, saved: true });
  else report.result(`Secret ${alias} has a new value, saved in the ${store.name} store.`);
  if (version.generation === 'C')
    report.note(`tokens minted from the old value of ${alias} live on until they end`);
}
