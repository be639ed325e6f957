import path from 'node:path';
import { readChecked, stageFile } from '../files/private-files.js';
import { hashOf } from '../store/records.js';

/** What an earlier call has learned about a server. */
export interface ServerCache {
  version?: string;
  /** When the version was asked, in seconds since 1970. */
  versionAtUnix?: number;
  /** The unit in which the server counts lifetimes. */
  lifetimeUnit?: 's' | 'ms';
  /** When that unit was observed, in seconds since 1970. */
  lifetimeUnitAtUnix?: number;
}

const DAY_SECONDS = 86_400;
const VERSION = /^[34](?:\.\d{1,3}(?:\.\d{1,5})?)?$/;

/** Whether what was learned at this time still counts. A server can be upgraded or replaced, so that is a day. */
export function isRecent(atUnix: number | undefined, nowMs: number): boolean {
  return atUnix !== undefined && Math.abs(nowMs / 1000 - atUnix) < DAY_SECONDS;
}

/** Reads the cache of a server; empty when nothing is cached. Never throws. */
export function readServerCache(stateDir: string | undefined, serviceUrl: string): ServerCache {
  if (stateDir === undefined) return {};
  const checked = readChecked(fileOf(stateDir, serviceUrl));
  if (!checked || 'refused' in checked) return {};
  try {
    const { v, url, version, versionAtUnix, lifetimeUnit, lifetimeUnitAtUnix } = JSON.parse(checked.text);
    if (v !== 1 || url !== serviceUrl) return {};
    return {
      ...(VERSION.test(version) && Number.isFinite(versionAtUnix) && { version, versionAtUnix }),
      ...((lifetimeUnit === 's' || lifetimeUnit === 'ms') &&
        Number.isFinite(lifetimeUnitAtUnix) && { lifetimeUnit, lifetimeUnitAtUnix }),
    };
  } catch {
    return {};
  }
}

/** Adds to the cache. A failure to write is ignored, since the server can be asked again. */
export function updateServerCache(stateDir: string, serviceUrl: string, facts: ServerCache): void {
  const all = { v: 1, url: serviceUrl, ...readServerCache(stateDir, serviceUrl), ...facts };
  try {
    stageFile(fileOf(stateDir, serviceUrl), `${JSON.stringify(all)}\n`).commit();
  } catch {
    // The server can be asked again.
  }
}

function fileOf(stateDir: string, serviceUrl: string): string {
  return path.join(stateDir, `server-${hashOf(serviceUrl)}.json`);
}
