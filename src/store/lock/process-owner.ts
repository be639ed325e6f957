import fs from 'node:fs';

/** How often the owner of a lock renews it. */
export const RENEW_MS = 5_000;
/**
 * A process cannot find out whether a lock's owner in another container or on another machine is alive. If such an
 * owner has not renewed its lock for this time, it counts as dead. The limit is below the 35 s for which a command
 * waits by default.
 */
const FOREIGN_LIMIT_MS = 30_000;
/** A process id without a start time proves little, because the system may have given it to another process since. */
const UNPROVEN_LIMIT_MS = 10 * 60_000;
/** A file without content is either being written, or its writer has died; after this time it counts as the latter. */
const UNFINISHED_LIMIT_MS = 2_000;

/** Identifies this process as `place/pid/start`, so that another process can tell whether it is still alive. */
export function processId(place: string): string {
  return `${place}/${process.pid}/${statOf(process.pid)?.start ?? ''}`;
}

/**
 * Whether the process with this id may still be alive.
 * @param age of the file that it left, in ms
 * @param here the `hostId` of this process
 */
export function isAlive(mark: string | undefined, age: number, here: string): boolean {
  // A modification time in the future means that the clock was set back since.
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
  // A zombie still has its process id, and the id of a dead process may have been given to another one.
  return stat.start === start && stat.state !== 'Z';
}

/**
 * Identifies where process ids are comparable: the machine since its last start, and on Linux the process namespace.
 */
export function hostId(): string {
  let namespace = '';
  let boot = '';
  try {
    namespace = fs.readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
    boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    // Without /proc, as outside Linux, only the host name is available.
  }
  const { hostname } = process.getBuiltinModule('node:os');
  return `${encodeURIComponent(hostname())}:${boot}:${namespace}`;
}

/** Reads state and start time of a process (fields 3 and 22 of its stat file), on Linux. */
function statOf(pid: number): { state: string; start: string } | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses, which may itself contain blanks and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state && start ? { state, start } : undefined;
  } catch {
    return undefined;
  }
}
