import type { Journal } from '../../store/journal.js';

/** How far a rotation has come. It holds only the masks that `secret list` shows, never a value. */
export interface Progress {
  readonly step: 'next' | 'drop' | 'alias' | 'finish';
  /** Begun in this very run. */
  readonly isNew?: boolean;
  /** When it began. */
  readonly atUnix?: number;
  /** The mask of the value that is replaced. */
  readonly old?: string;
  /** The mask of `<alias>_next`, once that was made. */
  readonly next?: string;
  /** The value that is replaced was saved here. */
  readonly wasSaved?: boolean;
}

export interface RotationNotes {
  read(): Progress;
  /** Throws STORE_UNAVAILABLE. */
  add(more: Partial<Progress>): void;
  remove(): void;
}

/** The notes of an earlier run; undefined when no rotation is pending. */
export function pendingRotation(journal: Journal): Progress | undefined {
  const text = journal.read();
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Progress;
  } catch {
    // Earlier versions wrote the name of the step alone.
    return { step: text as Progress['step'] };
  }
}

/** @param journal undefined without a store: then the notes last as long as the process */
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
