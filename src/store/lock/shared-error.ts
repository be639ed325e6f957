import { GraphException, REMEDIES } from '../../core/errors.js';
import { readChecked, stageFile } from '../../files/private-files.js';

/** Writes the holder's refusal beside the lock, for the waiting processes. Call before `release()`. Never throws. */
export function writeRefusal(file: string, refusal: GraphException, nowMs: number): void {
  const { code, message, hint, option, remedies, serverCode, serverText, status } = refusal;
  try {
    const text = JSON.stringify({
      at: nowMs,
      code,
      message,
      hint,
      option,
      remedies,
      serverCode,
      serverText,
      status,
    });
    stageFile(file, `${text}\n`).commit();
  } catch {
    // The waiting processes then ask the server themselves.
  }
}

/** The refusal written between `sinceMs`, noted before waiting, and now, if there is one. */
export function readRefusal(file: string, sinceMs: number, nowMs: number): GraphException | undefined {
  const checked = readChecked(file);
  if (!checked || 'refused' in checked) return undefined;
  try {
    const { at, code, message, hint, option, remedies, serverCode, serverText, status } = JSON.parse(
      checked.text,
    );
    if (code !== 'AUTH_FAILED' && code !== 'PERMISSION_DENIED') return undefined;
    // A time in the future means that the clock was set back: the refusal is old and must not be used.
    if (typeof message !== 'string' || !(at >= sinceMs && at <= nowMs)) return undefined;
    return new GraphException(code, message, {
      ...(typeof hint === 'string' && { hint }),
      ...(typeof option === 'string' && { option }),
      ...(Array.isArray(remedies) && { remedies: REMEDIES.filter((one) => remedies.includes(one)) }),
      ...(typeof serverCode === 'string' && { serverCode }),
      ...(typeof serverText === 'string' && { serverText }),
      ...(typeof status === 'number' && { status }),
    });
  } catch {
    return undefined;
  }
}
