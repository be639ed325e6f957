import type { Fault, FaultAction } from './faults.js';

const ACTIONS: readonly FaultAction[] = [
  'delay',
  'status',
  'html',
  'truncate',
  'malformed',
  'drop-before',
  'drop-after',
  'clock',
  'revoke',
  'sleeping',
  'starting',
  'suspended',
];
const NUMBERS = ['nth', 'times', 'ms', 'seconds', 'status'];
const TEXTS = ['route', 'action', 'header', 'body'];

/**
 * Reads the string form of a fault: `key=value` pairs with commas between them, in any order, but `body`
 * last, because it takes the rest of the string as it stands, commas and all.
 *
 *     route=POST /gsql/v1/tokens,nth=2,action=status,status=503,body=html
 *     route=/requesttoken,action=delay,ms=500
 *     action=status,status=200,body={"error":true,"message":"a, b"}
 *
 * Keys: `action` (delay, status, html, truncate, malformed, drop-before, drop-after, clock, revoke,
 * sleeping, starting, suspended), `route`, `nth`, `times`, `ms`, `seconds`, `status`, `header`, `body`; see `Fault` for each.
 *
 * Throws an Error with one clear sentence.
 */
export function parseFault(spec: string): Fault {
  const fault: Record<string, string | number> = {};
  let rest = spec.trim();
  while (rest !== '') {
    const equals = rest.indexOf('=');
    const key = rest.slice(0, Math.max(equals, 0)).trim();
    if (!NUMBERS.includes(key) && !TEXTS.includes(key)) {
      throw new Error(
        `A fault is written key=value,key=value with the keys ${[...TEXTS, ...NUMBERS].join(', ')}; near "${rest.slice(0, 30)}" there is none.`,
      );
    }
    const comma = key === 'body' ? -1 : rest.indexOf(',', equals);
    const value = comma < 0 ? rest.slice(equals + 1) : rest.slice(equals + 1, comma);
    rest = comma < 0 ? '' : rest.slice(comma + 1);
    fault[key] = NUMBERS.includes(key) ? Number(value) : value;
  }
  return checkFault(fault as unknown as Fault);
}

/** Returns the fault if every part of it is valid; otherwise throws an Error with one clear sentence. */
export function checkFault(fault: Fault): Fault {
  if (!ACTIONS.includes(fault.action))
    throw new Error(`A fault needs an action, one of ${ACTIONS.join(', ')}.`);
  const whole = (value: unknown, least: number) =>
    value === undefined || (Number.isInteger(value) && Number(value) >= least);
  if (!whole(fault.nth, 1) || !whole(fault.times, 1))
    throw new Error('In a fault, nth and times are whole numbers from 1 up.');
  if (!whole(fault.ms, 0)) throw new Error('In a fault, ms is a whole number of milliseconds.');
  if (!whole(fault.seconds, -1e11) || (fault.seconds ?? 0) > 1e11)
    throw new Error('In a fault, seconds is a whole number.');
  if (!whole(fault.status, 200) || (fault.status ?? 200) > 599)
    throw new Error('In a fault, status is a number from 200 to 599.');
  if (fault.header !== undefined && !/^[A-Za-z0-9-]+:[\t\x20-\x7e]*$/.test(fault.header)) {
    throw new Error('In a fault, header is written Name: value.');
  }
  return fault;
}
