import fs from 'node:fs';
import path from 'node:path';
import { replaceFile } from '../files/private-files.js';
import type { ConfigLocation } from './find.js';

interface TrustQuestion {
  readonly location: ConfigLocation;
  /** The text that was parsed. */
  readonly text: string;
  readonly stat: fs.Stats;
  readonly uid: number | undefined;
  readonly configDir: string | undefined;
}

/** Whether the settings of this file are used. If not, all of them are ignored. */
export function isTrusted({ location, text, stat, uid, configDir }: TrustQuestion): boolean {
  const { place } = location;
  if (place === 'named' || place === 'user') return true;
  if (place === 'home' && isPrivate(stat, uid)) return true;
  return configDir !== undefined && readApproval(location.path, configDir) === sha256(text);
}

/**
 * Remembers that a file is trusted with its present content.
 * @throws GraphException CONFIG_INVALID when the approval cannot be written
 */
export function approve(file: string, text: string, configDir: string): void {
  const approval = { v: 1, path: file, sha256: sha256(text) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}

/**
 * Whether the file belongs to the user and other users cannot write it. Windows has neither owner nor mode bits to
 * check.
 */
function isPrivate(stat: fs.Stats, uid: number | undefined): boolean {
  return uid === undefined || (stat.uid === uid && (stat.mode & 0o022) === 0);
}

function readApproval(file: string, configDir: string): string | undefined {
  try {
    const data: unknown = JSON.parse(fs.readFileSync(approvalFile(file, configDir), 'utf8'));
    const { path: approved, sha256: hash } = data as { path?: unknown; sha256?: unknown };
    return approved === file && typeof hash === 'string' ? hash : undefined;
  } catch {
    return undefined;
  }
}

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${sha256(file).slice(0, 32)}.json`);
}

function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
}
