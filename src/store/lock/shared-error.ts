import { GraphException, REMEDIES } from '../../core/errors.js';
import { readChecked, stageFile } from '../../files/private-files.js';

/**
 * Writes the error that the lock's owner met to a file beside the lock, for the waiting processes. To be called before
 * `release()`. Never throws.
 */
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
    // If the file cannot be written, the waiting processes ask the server themselves.
  }
}

/** Reads the error, if one was written between `sinceMs`, when the wait began, and now. */
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
