import { html, json, type Reply, text } from '../call.js';
import { page } from '../say.js';
import type { World } from '../world.js';

/** What a fault does to the calls that match it; the grammar of the string form is in `parseFault`. */
export type FaultAction =
  | 'delay'
  | 'status'
  | 'html'
  | 'truncate'
  | 'malformed'
  | 'drop-before'
  | 'drop-after'
  | 'clock'
  | 'revoke'
  | 'sleeping'
  | 'starting'
  | 'suspended';

export interface Fault {
  readonly action: FaultAction;
  /** Which calls match: `METHOD /path`, `/path`, or a path with `*` at its end. When absent, every call matches. */
  readonly route?: string;
  /** Begin at the n-th matching call, counted from 1 since the fault was added. */
  readonly nth?: number;
  /** Number of calls; 1 when `nth` is given, for `clock` and for `revoke`, otherwise unlimited. */
  readonly times?: number;
  /** delay: milliseconds. */
  readonly ms?: number;
  /** clock: seconds the sandbox's clock is set ahead (or, below 0, back) from then on. */
  readonly seconds?: number;
  /** status, html: the HTTP status. */
  readonly status?: number;
  /** status: `html`, `json`, `empty`, or the body itself; truncate, malformed: the body itself. */
  readonly body?: string;
  /** status: one more header, such as `Location: http://127.0.0.1:1/`. */
  readonly header?: string;
}

const PAGE = '<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n';

/** Returns how many milliseconds a fault delays the answer; 0 for one that does not. */
export function delayOf({ action, ms = 1000 }: Fault): number {
  return action === 'delay' ? ms : 0;
}

/** Returns the answer that takes the place of the real one, for actions that do so. The call then has no effect. */
export function faultReply(world: World, fault: Fault): Reply | undefined {
  switch (fault.action) {
    case 'status':
      return withHeader(statusReply(fault.status ?? 500, fault.body ?? 'json'), fault.header);
    case 'html':
      return html(fault.status ?? 200, fault.body ?? PAGE);
    case 'sleeping':
    case 'starting':
    case 'suspended':
      return page(world, fault.action);
    default:
      return undefined;
  }
}

function statusReply(status: number, body: string): Reply {
  if (body === 'html') return html(status, PAGE);
  if (body === 'empty') return text(status, '');
  if (body === 'json') return json(status, { error: true, message: `Injected fault, status ${status}.` });
  return { status, headers: { 'Content-Type': 'application/json' }, body };
}

function withHeader(reply: Reply, header: string | undefined): Reply {
  if (header === undefined) return reply;
  const colon = header.indexOf(':');
  return {
    ...reply,
    headers: { ...reply.headers, [header.slice(0, colon)]: header.slice(colon + 1).trim() },
  };
}

export interface FaultList {
  readonly all: readonly Fault[];
  add(fault: Fault): void;
  clear(): void;
  /** Returns the faults that match this call, in the order in which they were added. Counts the call. */
  matching(method: string, path: string): Fault[];
}

export function faultList(): FaultList {
  let entries: { fault: Fault; seen: number }[] = [];
  return {
    get all() {
      return entries.map((entry) => entry.fault);
    },
    add(fault) {
      entries.push({ fault, seen: 0 });
    },
    clear() {
      entries = [];
    },
    matching(method, path) {
      const hits: Fault[] = [];
      for (const entry of entries) {
        if (!matches(entry.fault.route, method, path)) continue;
        entry.seen++;
        const first = entry.fault.nth ?? 1;
        const once = entry.fault.nth !== undefined || ['clock', 'revoke'].includes(entry.fault.action);
        const times = entry.fault.times ?? (once ? 1 : Number.POSITIVE_INFINITY);
        if (entry.seen >= first && entry.seen < first + times) hits.push(entry.fault);
      }
      return hits;
    },
  };
}

function matches(route: string | undefined, method: string, path: string): boolean {
  if (route === undefined || route === '*') return true;
  const blank = route.indexOf(' ');
  if (blank > 0 && route.slice(0, blank).toUpperCase() !== method) return false;
  const wanted = route.slice(blank + 1).trim();
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
