import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { approvalFile, fingerprint } from './trust.js';

/** Remembers that a file is trusted for its present content. Throws CONFIG_INVALID when that cannot be written down. */
export function approve(file: string, content: string, configDir: string): void {
  const approval = approvalFile(file, configDir);
  const temporary = `${approval}.${process.pid}.tmp`;
  const text = `${JSON.stringify({ v: 1, path: file, sha256: fingerprint(content) })}\n`;
  try {
    fs.mkdirSync(path.dirname(approval), { recursive: true, mode: 0o700 });
    fs.writeFileSync(temporary, text, { mode: 0o600 });
    fs.renameSync(temporary, approval);
  } catch (error) {
    try {
      fs.unlinkSync(temporary);
    } catch {
      // It was never made.
    }
    const { code } = error as NodeJS.ErrnoException;
    throw new GraphException('CONFIG_INVALID', `${approval} cannot be written (${code}).`, {
      hint: 'look at the owner and mode of its folder, and at the room on the disk',
    });
  }
}
