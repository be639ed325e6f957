import path from 'node:path';
import { readChecked } from './files.js';
import { hashOf } from './records.js';
import { stageFile } from './write-files.js';

/** What was learnt about a server and saves asking again. */
export interface ServerFacts {
  version?: string;
  /** When the version was asked, in seconds since 1970. */
  versionAtUnix?: number;
  /** Unit in which the server counts lifetimes. */
  lifetimeUnit?: 's' | 'ms';
}

const VERSION = /^[34](?:\.\d{1,3}(?:\.\d{1,5})?)?$/;

/** Empty when nothing is known. Never throws. */
export function readFacts(stateDir: string, serviceUrl: string): ServerFacts {
  const checked = readChecked(fileOf(stateDir, serviceUrl));
  if (!checked || 'refused' in checked) return {};
  try {
    const { v, url, version, versionAtUnix, lifetimeUnit } = JSON.parse(checked.text);
    if (v !== 1 || url !== serviceUrl) return {};
    return {
      ...(VERSION.test(version) && Number.isFinite(versionAtUnix) && { version, versionAtUnix }),
      ...((lifetimeUnit === 's' || lifetimeUnit === 'ms') && { lifetimeUnit }),
    };
  } catch {
    return {};
  }
}

/** Adds to what is known. A failure to write is ignored: the server is simply asked again. */
export function rememberFacts(stateDir: string, serviceUrl: string, facts: ServerFacts): void {
  const all = { v: 1, url: serviceUrl, ...readFacts(stateDir, serviceUrl), ...facts };
  try {
    stageFile(fileOf(stateDir, serviceUrl), `${JSON.stringify(all)}\n`).commit();
  } catch {
    // See above.
  }
}

function fileOf(stateDir: string, serviceUrl: string): string {
  return path.join(stateDir, `server-${hashOf(serviceUrl)}.json`);
}
