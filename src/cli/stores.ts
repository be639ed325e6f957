import fs from 'node:fs';
import path from 'node:path';
import { refuseValue } from '../config/faults.js';
import { Sensitive } from '../core/sensitive.js';
import { openStore } from '../store/open.js';
import type { Store, StoreName } from '../store/store.js';
import { withoutCredentials } from './child-env.js';
import { KEYCHAIN_CHILD } from './context.js';
import { inCi } from './may-ask.js';
import type { Session } from './session.js';

const NAMES: readonly string[] = ['keychain', 'file', 'none'];

export interface ChosenStore {
  readonly store: Store;
  /** Somebody said this store: then its failure is an error, not a warning. */
  readonly named: boolean;
}

export type Place = Pick<Session, 'call' | 'settings' | 'stateDir' | 'configDir'>;

/** The store of this call: flag, variable, config, the one `login` recorded, `none` in CI, else the keychain. */
export async function chooseStore(place: Place, { needed = false } = {}): Promise<ChosenStore> {
  const { settings, call, configDir } = place;
  const said = settings.all.store[0]?.value as string | undefined;
  if (said !== undefined && !NAMES.includes(said)) {
    refuseValue(settings, 'store', 'is not a store', 'choose keychain, file or none');
  }
  const name = said ?? recordedStore(configDir) ?? (inCi(call.ctx.env) ? 'none' : 'keychain');
  const named = said !== undefined;
  return { store: await open(place, name as StoreName, named || needed), named };
}

/** @param worthAPrompt whether the desktop may ask a person to unlock the keychain for this */
export function open(
  { call, stateDir, configDir }: Place,
  name: StoreName,
  worthAPrompt: boolean,
): Promise<Store> {
  const { ctx, report } = call;
  const { GRAPHCRED_STORE_KEY, GRAPHCRED_STORE_KEY_FILE, DISPLAY, WAYLAND_DISPLAY } = ctx.env;
  const desktop = ctx.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY);
  return openStore(name, {
    stateDir,
    configDir,
    storeKey: GRAPHCRED_STORE_KEY ? new Sensitive(GRAPHCRED_STORE_KEY) : undefined,
    storeKeyFile: GRAPHCRED_STORE_KEY_FILE || undefined,
    keychain: {
      platform: ctx.platform,
      get env() {
        return withoutCredentials(ctx.env);
      },
      mayPrompt: worthAPrompt && desktop && ctx.stdin.isTTY && ctx.stderr.isTTY && !inCi(ctx.env),
      child: { command: ctx.self.command, args: [...ctx.self.args, KEYCHAIN_CHILD] },
      notify: (message) => report.warn(message),
    },
    warn: (message) => report.warn(message),
  });
}

/** What `login` wrote down, if it did. */
function recordedStore(configDir: string): string | undefined {
  const file = path.join(configDir, 'store');
  if (!fs.existsSync(file)) return undefined;
  try {
    const name = fs.readFileSync(file, 'utf8').trim();
    return NAMES.includes(name) ? name : undefined;
  } catch {
    return undefined;
  }
}
