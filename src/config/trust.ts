import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { type Problem, problemOf } from '../files/access.js';
import { readJson, replaceFile } from '../files/private-files.js';
import type { ConfigText } from './find.js';

/** Whether a file's settings are used. Throws CONFIG_UNTRUSTED for one of the user's config folder that others can change. */
export function isTrusted(read: ConfigText, configDir: string | undefined): boolean {
  const { place, path: file, bytes } = read;
  const problem = problemOfConfig(read);
  if (place === 'named' || (place !== 'project' && !problem)) return true;
  if (configDir !== undefined && isApproved(file, bytes, configDir)) return true;
  if (place === 'user' && problem) throw refused(problem);
  return false;
}

/** Returns why a file is not the user's alone; of one that counts by its place, also why its folder is not. */
export function problemOfConfig({ place, path: file, stat }: ConfigText): Problem | undefined {
  const countsByPlace = place === 'home' || place === 'user';
  return problemOf(file, stat) ?? (countsByPlace ? problemOf(path.dirname(file)) : undefined);
}

export function refused({ message, mend }: Problem): GraphException {
  return new GraphException('CONFIG_UNTRUSTED', `The config is not used: ${message}.`, { hint: mend });
}

/** Remembers that a file is trusted with its present content. */
export function approve(file: string, bytes: Buffer, configDir: string): void {
  const approval = { v: 1, path: file, sha256: sha256(bytes) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}

function isApproved(file: string, bytes: Buffer, configDir: string): boolean {
  const approval = approvalFile(file, configDir);
  if (problemOf(path.dirname(approval))) return false;
  const { path: approved, sha256: hash } = readJson(approval);
  return approved === file && hash === sha256(bytes);
}

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${sha256(file).slice(0, 32)}.json`);
}

function sha256(data: string | Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(data).digest('hex');
}
