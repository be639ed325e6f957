import fs from 'node:fs';

export interface ReadLimits {
  readonly maxBytes: number;
  /** The time limit of the read: the other end of a pipe may write late or never. */
  readonly timeoutMs: number;
}

export interface BoundedText {
  readonly text: string;
  readonly mode: number;
}

const PAUSE_MS = 20;
const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;

/**
 * Reads a file or a pipe that the user named. Throws an error of the file system, or one whose message gives the
 * reason: a device, too large, a pipe without a writer.
 */
export async function readBounded(file: string, { maxBytes, timeoutMs }: ReadLimits): Promise<BoundedText> {
  // The file is opened non-blocking, because opening a pipe would wait for a writer.
  const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    const isPipe = stat.isFIFO();
    if (!stat.isFile() && !isPipe) throw new Error('it is neither a file nor a pipe');
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (const deadline = process.uptime() + timeoutMs / 1000; ; ) {
      const part = readNow(fd, bytes.subarray(length));
      length += part ?? 0;
      if (length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
      if (part) continue;
      // No bytes mean the end of a file, but a pipe that is still empty may only have no writer yet.
      if (part === 0 && (length > 0 || !isPipe)) break;
      if (process.uptime() > deadline)
        throw new Error(`its writer did not finish within ${Math.round(timeoutMs / 1000)} s`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return { text: bytes.toString('utf8', 0, length), mode: stat.mode };
  } finally {
    fs.closeSync(fd);
  }
}

/** Returns how many bytes were read: 0 at the end, undefined when there is nothing to read yet. */
function readNow(fd: number, into: Buffer): number | undefined {
  try {
    return fs.readSync(fd, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
