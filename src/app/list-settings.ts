import fs from 'node:fs';
import {
  defaultMinTtl,
  isInFile,
  isLiteralCredential,
  KEYS,
  parseDuration,
  SETTINGS,
  type SourcedValue,
} from '../config/keys.js';
import { settingText } from '../config/settings.js';
import { maskLogin } from '../core/redact.js';
import { type BareRun, pathOf } from '../run/ports.js';
import type { LocalRun } from '../run/run.js';

/** Returns each setting that has a value: the one in force, where it was set, and what it shadows. Never a credential. */
export function listSettings(run: LocalRun) {
  const { settings, stores } = run;
  const { name: profile, ...chosen } = settings.profile;
  const { name: store, isRecorded } = stores.inForce;
  const lifetime = parseDuration(settingText(settings, 'lifetime') ?? '');
  const minTtl = lifetime === undefined ? 'unknown' : `${defaultMinTtl(lifetime)}`;
  const defaults = new Map([
    ['minTtl', { value: minTtl, source: 'default' }],
    ['store', { value: store, source: isRecorded ? 'login' : 'default' }],
  ]);
  const others = KEYS.flatMap((key) => {
    const set = settings.all[key].map((one) => describeSetting(run, one));
    const [inForce = defaults.get(key), ...shadowed] = set;
    return inForce ? [{ name: key as string, ...inForce, shadowed }] : [];
  });
  return [{ name: 'profile', value: profile, ...chosen }, ...others];
}

function describeSetting(run: BareRun, one: SourcedValue) {
  const { key, value, source } = one;
  const text = typeof value === 'string' ? value : value.join(' ');
  // A CI system may hold a credential itself in a variable for its path.
  const isNoFile = SETTINGS[key].type === 'path' && !isInFile(one.level) && !fs.existsSync(pathOf(run, one));
  const isShown = key === 'redis.url' || !(isNoFile || isLiteralCredential(key, text));
  return { value: isShown ? maskLogin(text) : 'set', source };
}
