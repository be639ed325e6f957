import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * Bundles a TypeScript file into plain CommonJS, so that tests can run it in processes of their own. It lies
 * below `node_modules/`, because it requires the native keychain module from there.
 */
export async function buildDriver(entry: string): Promise<{ file: string; remove(): void }> {
  const cache = path.join(root, 'node_modules/.cache');
  fs.mkdirSync(cache, { recursive: true });
  const dir = fs.mkdtempSync(path.join(cache, 'graphcred-driver-'));
  const bundle = await rolldown({ input: path.resolve(root, entry), platform: 'node', external: ['keytar'] });
  await bundle.write({
    format: 'cjs',
    dir,
    entryFileNames: 'driver.cjs',
    chunkFileNames: '[name]-[hash].cjs',
  });
  await bundle.close();
  return {
    file: path.join(dir, 'driver.cjs'),
    remove: () => fs.rmSync(dir, { recursive: true, force: true }),
  };
}
