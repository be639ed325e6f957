import fs from 'node:fs';
import os from 'node:os';

/** How often the owner of a lock renews it. */
export const RENEW_MS = 5_000;
/**
 * An owner in another container or on another machine cannot be asked whether it lives. If it has not renewed its lock
 * for this time it is taken for dead. Less than the 35 s for which a command waits by default.
 */
const FOREIGN_LIMIT_MS = 30_000;
/** Without a start time a number in use proves little: it may have gone to another process long ago. */
const UNPROVEN_LIMIT_MS = 10 * 60_000;
/** A file without content is being written, or its writer has died. */
const UNFINISHED_LIMIT_MS = 2_000;

/** This process, so that another one can tell whether it still lives: `place/pid/start`. */
export function processId(place: string): string {
  return `${place}/${process.pid}/${statOf(process.pid)?.start ?? ''}`;
}

/** Whether the process of that mark may still be alive, seen from this place, given the age of the file it left. */
export function isAlive(mark: string | undefined, age: number, here: string): boolean {
  // A file from the future was left before the clock was set back. It would stay young for as long as that.
  const ageMs = Math.abs(age);
  if (mark === undefined) return ageMs < UNFINISHED_LIMIT_MS;
  const [place, pidText, start] = mark.split('/');
  if (place !== here) return ageMs < FOREIGN_LIMIT_MS;
  const pid = Number(pidText);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const stat = statOf(pid);
  if (!stat || !start) return ageMs < UNPROVEN_LIMIT_MS;
  // A zombie still answers to its number; and a number may have gone to another process.
  return stat.start === start && stat.state !== 'Z' && stat.state !== 'X';
}

/** Where process numbers mean the same: the machine since its last start, and on Linux the namespace. */
export function hostId(): string {
  let namespace = '';
  let boot = '';
  try {
    namespace = fs.readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
    boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    // Not Linux, or no /proc: the name has to do.
  }
  return `${encodeURIComponent(os.hostname())}:${boot}:${namespace}`;
}

/** State and start time (fields 3 and 22) of a process, on Linux. */
function statOf(pid: number): { state: string; start: string } | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state && start ? { state, start } : undefined;
  } catch {
    return undefined;
  }
}
