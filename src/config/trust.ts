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
  if (place === 'named') return true;
  let problem: Problem | undefined;
  if (place !== 'project') {
    problem = problemOf(file, stat, uid) ?? problemOf(path.dirname(file), undefined, uid);
    if (problem === undefined) return true;
  }
  if (configDir !== undefined && readApproval(file, configDir, uid) === sha256(bytes)) return true;
  if (place === 'user' && problem) throw refused(problem);
  return false;
}

export function refused({ message, mend }: Problem): GraphException {
  return new GraphException('CONFIG_UNTRUSTED', `The config is not used: ${message}.`, { hint: mend });
}

/**
 * Remembers that a file is trusted with its present content.
 * @throws GraphException CONFIG_INVALID when the approval cannot be written
 */
export function approve(file: string, bytes: Buffer, configDir: string): void {
  const approval = { v: 1, path: file, sha256: sha256(bytes) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}

function readApproval(file: string, configDir: string, uid: number | undefined): string | undefined {
  const approval = approvalFile(file, configDir);
  if (problemOf(path.dirname(approval), undefined, uid)) return undefined;
  const { path: approved, sha256: hash } = readJson(approval);
  return approved === file && typeof hash === 'string' ? hash : undefined;
}

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${sha256(file).slice(0, 32)}.json`);
}

function sha256(data: string | Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(data).digest('hex');
}
