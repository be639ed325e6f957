import fs from 'node:fs';
import path from 'node:path';
import { findConfig } from '../../config/find.js';
import { GraphException } from '../../core/errors.js';
import type { Store } from '../../store/store.js';
import type { Call } from '../call.js';
import { fileBringsCredential, refuseUntrusted } from '../credential.js';
import { openSession, othersCanReadCredential, placesOf, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { type Check, type Found, failed, ok, skipped, warn } from './check.js';

/** The settings, as every command reads them. */
export async function openQuietly(call: Call, found: Found): Promise<Session | undefined> {
  let mode: number | undefined;
  let configFile: string | undefined;
  try {
    const { cwd, home, env, uid } = call.ctx;
    const named =
      typeof call.flags.config === 'string' ? call.flags.config : env.GRAPHCRED_CONFIG || undefined;
    const location = findConfig({ named, cwd, home, configDir: placesOf(call).configDir });
    configFile = location?.path;
    if (location && uid !== undefined) mode = fs.statSync(location.path).mode & 0o777;
  } catch {
    // openSession tells it better.
  }
  try {
    const session = await openSession(call);
    const { file, profile, refused, all } = session.settings;
    const doubted = refused.length > 0 || Object.values(all).some((said) => said[0]?.untrusted);
    if (!file) found.config = ok('no config file; flags, variables and defaults');
    else if (file.trusted || !doubted) found.config = ok(`${file.path}, profile ${profile.name}`);
    else
      found.config = warn(
        `${file.path} is not trusted, so part of it does not count`,
        `read it; if it is yours: graphcred config trust ${file.path}`,
      );
    found['config-mode'] = judgeMode(mode, configFile);
    if (othersCanReadCredential(session.settings, call.ctx.uid))
      found['config-mode'] = warn('other users can read the credential in it', `chmod 600 ${configFile}`);
    return session;
  } catch (error) {
    const check = failed(error);
    // A credential in a file that others can write is a matter of its mode alone.
    if (mode !== undefined && (mode & 0o022) !== 0 && check.fix.includes('chmod')) {
      found.config = ok('the config file can be read');
      found['config-mode'] = check;
    } else {
      found.config = check;
      found['config-mode'] = judgeMode(mode, configFile);
    }
    return undefined;
  }
}

/** Whether anything may be asked of the servers: a file that nobody vouched for does not decide which. */
export async function isVouchedFor(session: Session, found: Found): Promise<boolean> {
  try {
    await refuseUntrusted(session, { literal: fileBringsCredential(session, 'login') });
    return true;
  } catch (error) {
    found.config = failed(error);
    return false;
  }
}

function judgeMode(mode: number | undefined, file: string | undefined): Check {
  if (file === undefined) return skipped('there is no config file');
  if (mode === undefined) return skipped('there are no file modes here');
  const shown = `mode ${mode.toString(8).padStart(4, '0')}`;
  if ((mode & 0o022) !== 0) return warn(`${shown}: other users can change it`, `chmod 600 ${file}`);
  return ok(shown);
}

/** The store of this call; undefined when it cannot be used. */
export async function lookAtStore(session: Session, found: Found): Promise<Store | undefined> {
  const choices = 'choose another: graphcred login --store keychain, or --store file';
  try {
    const { store } = await chooseStore(session);
    if (store.name === 'none') {
      found.store = warn('none: nothing is kept, every call mints a token', choices);
      return store;
    }
    await store.check();
    requireWritable(session.stateDir);
    found.store = ok(`${store.name}, ${store.list().length} entries`);
    return store;
  } catch (error) {
    const check = failed(error);
    found.store = { ...check, fix: check.fix.includes('--store') ? check.fix : `${check.fix}; ${choices}` };
    return undefined;
  }
}

/** Whether records could be written, without writing one. */
function requireWritable(stateDir: string): void {
  let dir = stateDir;
  while (!fs.existsSync(dir) && dir !== path.dirname(dir)) dir = path.dirname(dir);
  try {
    if (!fs.statSync(dir).isDirectory()) throw new Error('in the way');
    fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw new GraphException('STORE_UNAVAILABLE', `nothing can be written to ${stateDir}`, {
      hint: `look at owner and mode of ${dir}`,
    });
  }
}
