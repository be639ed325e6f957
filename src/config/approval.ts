import fs from 'node:fs';
import path from 'node:path';

/** Whether `config trust` was said of this file with this very content. */
export function isApproved(file: string, content: string, configDir: string): boolean {
  return readApproval(file, configDir) === fingerprint(content);
}

function readApproval(file: string, configDir: string): string | undefined {
  const approval = approvalFile(file, configDir);
  try {
    const data: unknown = JSON.parse(fs.readFileSync(approval, 'utf8'));
    const { path: approved, sha256 } = data as { path?: unknown; sha256?: unknown };
    return approved === file && typeof sha256 === 'string' ? sha256 : undefined;
  } catch {
    return undefined;
  }
}

export function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${fingerprint(file).slice(0, 32)}.json`);
}

export function fingerprint(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
}
