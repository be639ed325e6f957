import { type ErrorCode, GraphException } from '../core/errors.js';
import { readChecked, stageFile } from './files.js';

/** Leaves the holder's refusal beside the lock, for those who wait. Call before `release()`. Never throws. */
export function writeRefusal(file: string, refusal: GraphException): void {
  const { code, message, hint, serverCode, serverText, status } = refusal;
  try {
    const text = JSON.stringify({ at: Date.now(), code, message, hint, serverCode, serverText, status });
    stageFile(file, `${text}\n`).commit();
  } catch {
    // Those who wait then ask the server themselves.
  }
}

/** The refusal written at or after `sinceMs` (the `Date.now()` noted before waiting), if there is one. */
export function readRefusal(file: string, sinceMs: number): GraphException | undefined {
  const checked = readChecked(file);
  if (!checked || 'refused' in checked) return undefined;
  try {
    const { at, code, message, hint, serverCode, serverText, status } = JSON.parse(checked.text);
    if (typeof code !== 'string' || typeof message !== 'string' || !(at >= sinceMs)) return undefined;
    return new GraphException(code as ErrorCode, message, {
      ...(typeof hint === 'string' && { hint }),
      ...(typeof serverCode === 'string' && { serverCode }),
      ...(typeof serverText === 'string' && { serverText }),
      ...(typeof status === 'number' && { status }),
    });
  } catch {
    return undefined;
  }
}
