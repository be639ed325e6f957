import fs from 'node:fs';

const AT_ONCE = 64 * 1024;

/** Reads a file, a pipe or a device to its end, which must come soon: some have none. Throws on any fault. */
export function readSmall(file: string, most: number): string {
  const parts: Buffer[] = [];
  const fd = fs.openSync(file, 'r');
  try {
    for (let left = most; ; ) {
      const part = Buffer.alloc(AT_ONCE);
      const length = fs.readSync(fd, part);
      if (length === 0) return Buffer.concat(parts).toString('utf8');
      if (length > left) throw new Error('too large');
      left -= length;
      parts.push(part.subarray(0, length));
    }
  } finally {
    fs.closeSync(fd);
  }
}
