import type { Journal } from '../store/journal.js';

/** How far a rotation has come. It holds only the masks that `secret list` shows, never a value. */
export interface Progress {
  readonly step: 'next' | 'drop' | 'alias' | 'finish';
  /** Whether this run began the rotation. */
  readonly isNew?: boolean;
  /** When the rotation began, or last made `<alias>_next` anew, in seconds since 1970. */
  readonly atUnix?: number;
  /** The mask of the value that is to be replaced. */
  readonly old?: string;
  /** The mask of `<alias>_next`, once that secret exists. */
  readonly next?: string | undefined;
  /** Whether the value that is to be replaced was saved on this machine. */
  readonly wasSaved?: boolean;
  /** The id by which profiles name the secret, if it was saved. */
  readonly origin?: string;
}

export interface RotationNotes {
  read(): Progress;
  /** Adds to the notes. Throws STORE_UNAVAILABLE. */
  add(more: Partial<Progress>): void;
  remove(): void;
}

/** Reads the notes of an earlier run; undefined when no rotation is pending. */
export function pendingRotation(journal: Journal): Progress | undefined {
  const text = journal.read();
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Progress;
  } catch {
    // The step is not known, so the rotation goes on from the secrets that are saved.
    return { step: 'next' };
  }
}

/**
 * Opens the notes of a rotation.
 * @param journal undefined without a store; then the notes are lost when the process ends
 */
export function rotationNotes(journal: Journal | undefined, from: Progress): RotationNotes {
  let now = from;
  const write = () => {
    const { isNew, ...lasting } = now;
    journal?.write(JSON.stringify(lasting));
  };
  if (from.isNew) write();
  return {
    read: () => now,
    add(more) {
      now = { ...now, ...more };
      write();
    },
    remove: () => journal?.remove(),
  };
}
