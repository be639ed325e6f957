import { installAll } from './install.js';
import { OTHERS, PYTIGERGRAPH } from './programs.js';

/** Installs all programs before the first test, since test files that run at once use the same folders. */
export async function setup(): Promise<void> {
  // A program that cannot be installed is told by its own tests.
  await installAll([...PYTIGERGRAPH, ...OTHERS]).catch(() => {});
}
