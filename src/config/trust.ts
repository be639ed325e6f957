import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { type Problem, problemOf } from '../files/access.js';
import { readJson, replaceFile } from '../files/private-files.js';
import type { ConfigText } from './find.js';
import type { SettingsInput } from './keys.js';

/**
 * Whether the settings of this file are used. If not, all of them are ignored.
 * @throws GraphException CONFIG_UNTRUSTED for a file of the user's config folder that others can change
 */
export function isTrusted(
  { place, path: file, bytes, stat }: Omit<ConfigText, 'text'>,
  { uid, configDir }: Pick<SettingsInput, 'uid' | 'configDir'>,
): boolean {
  const problem = problemOf(file, stat, uid) ?? problemOf(path.dirname(file), undefined, uid);
  if (place === 'named' || (place !== 'project' && !problem)) return true;
  if (configDir !== undefined && isApproved(file, bytes, configDir, uid)) return true;
  if (place === 'user' && problem) throw refused(problem);
  return false;
}

export function refused({ message, mend }: Problem): GraphException {
  return new GraphException('CONFIG_UNTRUSTED', `The config is not used: ${message}.`, { hint: mend });
}

/** Remembers that a file is trusted with its present content. */
export function approve(file: string, bytes: Buffer, configDir: string): void {
  const approval = { v: 1, path: file, sha256: sha256(bytes) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}

function isApproved(file: string, bytes: Buffer, configDir: string, uid: number | undefined): boolean {
  const approval = approvalFile(file, configDir);
  if (problemOf(path.dirname(approval), undefined, uid)) return false;
  const { path: approved, sha256: hash } = readJson(approval);
  return approved === file && hash === sha256(bytes);
}

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${sha256(file).slice(0, 32)}.json`);
}

function sha256(data: string | Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(data).digest('hex');
}
