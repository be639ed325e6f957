import fs from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Secret, State, Token, User } from './state.js';

interface StateFile {
  format: 1;
  users: User[];
  graphs: string[];
  secrets: Secret[];
  tokens: Token[];
  blocked: Record<string, string[]>;
  jwtKey: string;
}

/** Returns the state in `file`, or undefined when there is no such file yet. Throws when it cannot be read. */
export function loadState(file: string): State | undefined {
  let content: string;
  try {
    content = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(
      `The state file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}); name another file.`,
    );
  }
  try {
    const saved = JSON.parse(content) as StateFile;
    const lists = [saved.users, saved.graphs, saved.secrets, saved.tokens];
    if (saved.format !== 1 || !lists.every(Array.isArray)) throw new Error('unknown format');
    return {
      users: saved.users,
      graphs: saved.graphs,
      secrets: saved.secrets,
      tokens: new Map(saved.tokens.map((token) => [token.value, token])),
      blocked: new Map(Object.entries(saved.blocked)),
      jwtKey: saved.jwtKey,
    };
  } catch {
    throw new Error(
      `The state file ${file} was not written by this sandbox; delete it or name another file.`,
    );
  }
}

/**
 * Returns `save()`, which resolves when everything done before the call is in the file. Calls during a write share the
 * next one, so a thousand requests at once cause only a few writes. A temporary file is written and then renamed, so
 * that a reader sees either the old state or the new one.
 */
export function stateWriter(file: string, state: State): () => Promise<void> {
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;

  const write = async () => {
    const content: StateFile = {
      format: 1,
      users: state.users,
      graphs: state.graphs,
      secrets: state.secrets,
      tokens: [...state.tokens.values()],
      blocked: Object.fromEntries(state.blocked),
      jwtKey: state.jwtKey,
    };
    const temporary = `${file}.${process.pid}.tmp`;
    await writeFile(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    await rename(temporary, file);
  };
  const start = () => {
    queued = undefined;
    running = write().finally(() => {
      running = undefined;
    });
    return running;
  };

  return () => {
    if (queued) return queued;
    if (!running) return start();
    queued = running.then(start, start);
    return queued;
  };
}
