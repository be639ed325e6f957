import { failure, type Reply, reply } from './call.js';
import { RESTPP } from './restpp/texts.js';
import { page } from './say.js';

/** Which calls a fault hits, and how. docs/dev/sandbox.md says what each part means and what it is by default. */
export interface Fault {
  readonly action: keyof typeof ACTIONS;
  readonly route?: string;
  readonly nth?: number;
  readonly times?: number;
  readonly ms?: number;
  readonly seconds?: number;
  readonly status?: number;
  readonly header?: string;
  readonly body?: string;
}

const PAGE = '<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n';

/** What each action answers in place of the call, where it does. An answer that is undefined breaks the connection. */
export const ACTIONS = {
  delay: undefined,
  status: statusReply,
  html: ({ status = 200, body = PAGE }: Fault) => reply(status, 'html', body),
  truncate: undefined,
  malformed: undefined,
  'drop-before': () => undefined,
  'drop-after': undefined,
  clock: undefined,
  revoke: undefined,
  sleeping: () => page(RESTPP.sleeping),
  starting: () => page(RESTPP.starting),
  suspended: () => page(RESTPP.suspended),
};

/** The least and the most. A timer of Node counts no further than that of `ms`. */
const NUMBERS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  nth: [1, Number.POSITIVE_INFINITY],
  times: [1, Number.POSITIVE_INFINITY],
  ms: [0, 2 ** 31 - 1],
  seconds: [-1e11, 1e11],
  status: [200, 599],
};
const WORDS = ['route', 'action', 'header', 'body'];

/** Reads a fault: `key=value` pairs with commas; `body` takes the rest as it is. Throws an Error of one sentence. */
export function parseFault(spec: string): Fault {
  const fault: Record<string, string | number> = {};
  const keys = [...WORDS, ...Object.keys(NUMBERS)];
  let rest = spec.trim();
  while (rest !== '') {
    const equals = rest.indexOf('=');
    const key = rest.slice(0, Math.max(equals, 0)).trim();
    if (!keys.includes(key))
      throw new Error(
        `A fault is written key=value,key=value with the keys ${keys.join(', ')}; near "${rest.slice(0, 30)}" there is none.`,
      );
    const comma = key === 'body' ? -1 : rest.indexOf(',', equals);
    const value = comma < 0 ? rest.slice(equals + 1) : rest.slice(equals + 1, comma);
    rest = comma < 0 ? '' : rest.slice(comma + 1);
    fault[key] = WORDS.includes(key) ? value : Number(value || Number.NaN);
  }
  return checkFault(fault as unknown as Fault);
}

function checkFault(fault: Fault): Fault {
  if (!Object.hasOwn(ACTIONS, fault.action))
    throw new Error(`In a fault, action is one of ${Object.keys(ACTIONS).join(', ')}.`);
  for (const [name, [least, most]] of Object.entries(NUMBERS)) {
    const value = Number(fault[name as keyof Fault] ?? least);
    if (!(Number.isInteger(value) && value >= least && value <= most))
      throw new Error(`In a fault, ${name} is a whole number from ${least} to ${most}.`);
  }
  if (fault.header !== undefined && !/^[A-Za-z0-9-]+:[\t\x20-\x7e]*$/.test(fault.header))
    throw new Error('In a fault, header is written Name: value.');
  return fault;
}

function statusReply({ status = 500, body = 'json', header }: Fault): Reply {
  let sent = reply(status, 'json', body);
  if (body === 'html') sent = reply(status, 'html', PAGE);
  if (body === 'empty') sent = reply(status, 'text', '');
  if (body === 'json') sent = failure(status, `Injected fault, status ${status}.`);
  if (header === undefined) return sent;
  const colon = header.indexOf(':');
  const more = { [header.slice(0, colon)]: header.slice(colon + 1).trim() };
  return { ...sent, headers: { ...sent.headers, ...more } };
}

export interface ArmedFault {
  readonly fault: Fault;
  seen: number;
}

/** Returns the faults that hit this call, in the order in which they were added. Counts the call. */
export function takeHits(armed: readonly ArmedFault[], method: string, path: string): Fault[] {
  const hits: Fault[] = [];
  for (const entry of armed) {
    const { route, action, nth, times } = entry.fault;
    if (!matches(route, method, path)) continue;
    entry.seen++;
    const once = nth !== undefined || action === 'clock' || action === 'revoke';
    const first = nth ?? 1;
    const end = first + (times ?? (once ? 1 : Number.POSITIVE_INFINITY));
    if (entry.seen >= first && entry.seen < end) hits.push(entry.fault);
  }
  return hits;
}

function matches(route: string | undefined, method: string, path: string): boolean {
  if (route === undefined || route === '*') return true;
  const blank = route.indexOf(' ');
  if (blank > 0 && route.slice(0, blank).toUpperCase() !== method) return false;
  const wanted = route.slice(blank + 1).trim();
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
