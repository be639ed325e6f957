import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';
import { cleanUp, rawServer } from './core-support.js';

const root = path.resolve(import.meta.dirname, '../..');

/** Bundles the library as it is published: ofetch without its Node entry, everything else from the sources. */
async function bundle(format: 'cjs' | 'esm'): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'graphcred-core-'));
  cleanUp(() => rm(dir, { recursive: true }));
  const built = await rolldown({
    input: { index: path.join(root, 'src/index.ts') },
    platform: 'node',
    resolve: { alias: { ofetch: path.join(root, 'node_modules/ofetch/dist/index.mjs') } },
  });
  const extension = format === 'cjs' ? 'cjs' : 'mjs';
  const names = { entryFileNames: `[name].${extension}`, chunkFileNames: `[name]-[hash].${extension}` };
  await built.write({ dir, format, ...names });
  await built.close();
  return path.join(dir, `index.${extension}`);
}

// holds: C9.1
test.each(['cjs', 'esm'] as const)('a call in a new process does not load undici (%s)', async (format) => {
  const url = await rawServer((_request, response) => {
    response.end(JSON.stringify({ error: false, token: 'abcdefgh' }));
  });
  const entry = await bundle(format);
  const script = `
    const mint = async ({ GraphConnection }) => {
      const connection = new GraphConnection({ restUrl: ${JSON.stringify(url)}, gsqlUrl: ${JSON.stringify(url)} });
      await connection.findVersion().catch(() => {});
      const known = new GraphConnection({ gsqlUrl: ${JSON.stringify(url)}, serverVersion: '4' });
      const { token } = await known.mintToken({ secret: 'abcdefghijkl' });
      console.log(JSON.stringify({ token, loaded: process.moduleLoadList }));
    };
    ${format === 'cjs' ? `mint(require(${JSON.stringify(entry)}))` : `import(${JSON.stringify(entry)}).then(mint)`};`;
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env });
  const { token, loaded } = JSON.parse(stdout) as { token: string; loaded: string[] };
  expect(token).toBe('abcdefgh');
  expect(loaded.filter((name) => /undici/.test(name))).toEqual([]);
  // A call over plain http does not need these modules.
  expect(loaded).not.toContain('NativeModule https');
  expect(loaded).toContain('NativeModule _http_client');
});
