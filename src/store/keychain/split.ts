import { hashOf } from '../records.js';

/** The operations of an OS keychain that are used. `undefined` and false mean that there is no such entry. */
export interface Vault {
  get(account: string): Promise<string | undefined>;
  set(account: string, value: string): Promise<void>;
  delete(account: string): Promise<boolean>;
  /** Throws the error that the next operation would throw if the keychain cannot be used now. */
  check(): Promise<void>;
}

/** Windows stores at most 2,560 bytes an entry. */
const LONGEST = 2400;
const PREFIX = 'graphcred-split:1:';
const HEADER = /^graphcred-split:1:([0-9a-z]+):([0-9]{1,4}):([0-9a-f]+)$/;

interface Header {
  readonly generation: string;
  readonly count: number;
  readonly checksum: string;
}

/**
 * Returns a vault for values of any length, on top of one that stores 2,400 bytes an entry. A long value is stored in
 * chunks `account#generation:0..n-1`. The header at `account` is written last and names the generation, so a reader
 * sees either the old value or the new one. If a chunk is missing or changed, the value counts as absent.
 */
export function splittingVault(vault: Vault): Vault {
  const readHeader = async (account: string) => parseHeader(await vault.get(account));

  async function deleteChunks(account: string, header: Header | undefined): Promise<void> {
    if (!header) return;
    for (let i = 0; i < header.count; i++) await vault.delete(chunkName(account, header, i));
  }

  return {
    check: () => vault.check(),

    async get(account) {
      const value = await vault.get(account);
      const header = parseHeader(value);
      if (!header) return value?.startsWith(PREFIX) ? undefined : value;
      let whole = '';
      for (let i = 0; i < header.count; i++) {
        const chunk = await vault.get(chunkName(account, header, i));
        if (chunk === undefined) return undefined;
        whole += chunk;
      }
      return hashOf(whole) === header.checksum ? whole : undefined;
    },

    async set(account, value) {
      const old = await readHeader(account);
      if (Buffer.byteLength(value) <= LONGEST && !value.startsWith(PREFIX)) {
        await vault.set(account, value);
      } else {
        const chunks = split(value);
        const generation = Math.random().toString(36).slice(2, 10);
        const header = { generation, count: chunks.length, checksum: hashOf(value) };
        try {
          for (const [i, chunk] of chunks.entries()) await vault.set(chunkName(account, header, i), chunk);
          await vault.set(account, `${PREFIX}${generation}:${header.count}:${header.checksum}`);
        } catch (error) {
          await deleteChunks(account, header).catch(() => {});
          throw error;
        }
      }
      await deleteChunks(account, old);
    },

    async delete(account) {
      // The header is deleted last: after an interruption, the next call still knows which chunks to remove.
      await deleteChunks(account, await readHeader(account));
      return vault.delete(account);
    },
  };
}

function chunkName(account: string, header: Header, index: number): string {
  return `${account}#${header.generation}:${index}`;
}

function parseHeader(value: string | undefined): Header | undefined {
  const found = value === undefined ? null : HEADER.exec(value);
  if (!found) return undefined;
  const [, generation = '', count, checksum = ''] = found;
  return { generation, count: Number(count), checksum };
}

/** Splits a value into pieces of at most 2,400 bytes in UTF-8, never inside a character. */
function split(value: string): string[] {
  const chunks: string[] = [];
  let chunk = '';
  let bytes = 0;
  for (const character of value) {
    const size = Buffer.byteLength(character);
    if (bytes + size > LONGEST) {
      chunks.push(chunk);
      chunk = '';
      bytes = 0;
    }
    chunk += character;
    bytes += size;
  }
  chunks.push(chunk);
  return chunks;
}
