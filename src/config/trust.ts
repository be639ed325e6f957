import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import type { ConfigLocation } from './find.js';
import type { ConfigKey } from './schema.js';

/** Taken from any file: none of them moves a credential or runs anything. */
const FREE_KEYS: ReadonlySet<string> = new Set<ConfigKey>(['graph', 'lifetime', 'minTtl', 'output']);
/** Never taken from a file that is not trusted: they run a program, read a file, or weaken the transport. */
const NEVER_KEYS: ReadonlySet<string> = new Set<ConfigKey>([
  'passwordCommand',
  'passwordFile',
  'secretCommand',
  'secretFile',
  'store',
  'tls.ca',
  'tls.cert',
  'tls.key',
  'tls.insecure',
]);

/** How far a key from an untrusted file is believed. */
export function trustOfKey(key: ConfigKey): 'free' | 'with-own-literal' | 'never' {
  if (FREE_KEYS.has(key)) return 'free';
  return NEVER_KEYS.has(key) ? 'never' : 'with-own-literal';
}

export interface TrustFacts {
  location: ConfigLocation;
  /** The very bytes that were parsed. */
  bytes: Buffer;
  stat: fs.Stats;
  uid: number | undefined;
  configDir: string;
}

/** Whether every key of this file counts. */
export function isTrusted(facts: TrustFacts): boolean {
  const { place } = facts.location;
  if (place === 'named' || place === 'user') return true;
  if (place === 'home' && ownedAndClosed(facts.stat, facts.uid)) return true;
  return readApproval(facts.location.path, facts.configDir) === fingerprint(facts.bytes);
}

/** Remembers that a file is trusted for its present content. Throws CONFIG_INVALID when that cannot be written down. */
export function approve(file: string, bytes: Buffer, configDir: string): void {
  const approval = approvalFile(file, configDir);
  const temporary = `${approval}.${process.pid}.tmp`;
  const text = `${JSON.stringify({ v: 1, path: file, sha256: fingerprint(bytes) })}\n`;
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

function ownedAndClosed(stat: fs.Stats, uid: number | undefined): boolean {
  // Windows has neither owner nor mode bits to look at; a home directory is the user's there.
  if (uid === undefined) return true;
  return stat.uid === uid && (stat.mode & 0o022) === 0;
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

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${fingerprint(Buffer.from(file)).slice(0, 32)}.json`);
}

function fingerprint(bytes: Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
}
