import { approvalFile, fingerprint } from './approval.js';
import { replaceFile } from './write.js';

/** Remembers that a file is trusted for its present content. Throws CONFIG_INVALID when that cannot be written down. */
export function approve(file: string, content: string, configDir: string): void {
  const approval = { v: 1, path: file, sha256: fingerprint(content) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}
