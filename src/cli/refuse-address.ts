import { refuseValue } from '../config/faults.js';
import type { ConfigKey } from '../config/schema.js';
import type { Settings } from '../config/settings.js';
import { GraphException } from '../core/errors.js';

/** Core names the setting; this adds which file, variable or flag said it, and its exit status. */
export function refuseAddress(settings: Settings, error: unknown): never {
  if (!(error instanceof GraphException) || error.code !== 'USAGE') throw error;
  const key = (Object.keys(settings.all) as ConfigKey[]).find((name) => error.message.includes(` ${name} `));
  if (key === undefined) throw error;
  const rest = error.message.slice(error.message.indexOf(` ${key} `) + key.length + 2).replace(/\.$/, '');
  const host = key === 'host' && rest.includes('begins with http');
  const typed = settings.all.host[0]?.value;
  // Both spellings, so that the right one can be copied; a host name is no secret.
  const both =
    host && typeof typed === 'string' && /^[A-Za-z0-9.-]+(:\d+)?$/.test(typed)
      ? typed.replace(/:\d+$/, '')
      : 'graph.example.com';
  return refuseValue(
    settings,
    key,
    rest,
    host ? `write https://${both} or http://${both}` : (error.hint ?? ''),
  );
}
