import { usageError } from './errors.js';
import { BoundCredential, type GivenCredential, Sensitive } from './sensitive.js';
import { Deadline } from './time.js';

/** Timers cannot count further. */
const LONGEST_TIMEOUT_MS = 0x7fff_ffff;
/** A hundred years. A longer lifetime is a mistake. */
const MAX_LIFETIME = 3_153_600_000;

/** Returns a value of one type. Throws USAGE, with the name of the option or argument, for any other. */
type Parser<T> = (value: unknown, option: string) => T;

/** Checks options, and leaves out those that are null or undefined: callers without types pass null. */
export function checked<T extends object>(given: T, prefix = ''): T {
  const options = fields(given ?? {}, prefix.slice(0, -1) || 'options');
  const checked: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(OPTIONS)) {
    const value = optional(options[name], kind, prefix + name);
    if (value !== undefined) checked[name] = value;
  }
  return checked as T;
}

/** Checks one option or argument; null counts as not given. */
export function optional<T>(value: T | null | undefined, kind: Parser<T>, option: string): T | undefined {
  return value === undefined || value === null ? undefined : kind(value, option);
}

/** @param words what a value must be, as the rest of a sentence */
function kindOf<T>(words: string, is: (value: unknown) => boolean): Parser<T> {
  return (value, option) => {
    if (is(value)) return value as T;
    const hint = ['see the types of the package', { setting: option }];
    throw usageError(`The ${option} must be ${words}.`, hint);
  };
}

function ofType<T>(type: 'string' | 'number' | 'boolean' | 'function'): Parser<T> {
  return kindOf(`a ${type}`, (value) => typeof value === type);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value);
}

const isText = (value: unknown) => typeof value === 'string';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);

function isSensitive(value: unknown): boolean {
  if (value instanceof BoundCredential && !isObject(value.servers)) return false;
  return value instanceof Sensitive && isText(value.reveal());
}

export const fields = kindOf<Record<string, unknown>>('an object', isObject);
export const text = ofType<string>('string');
export const textOrTexts = kindOf<string | readonly string[]>(
  'a string or a list of strings',
  (value) => isText(value) || isTexts(value),
);
export const credential = kindOf<GivenCredential>(
  'a string, a Sensitive or a BoundCredential',
  (value) => isText(value) || isSensitive(value),
);
/** An empty name counts as none. */
const name: Parser<unknown> = (value, option) => text(value, option) || undefined;
const anyFunction = ofType<(...args: unknown[]) => unknown>('function');
/** A callback of the caller, which may fail without harm: that must not cost a token that is already minted. */
const callback: Parser<unknown> = (value, option) => {
  const given = anyFunction(value, option);
  // The promise also takes the rejection of one that the callback returns.
  const call = async (...args: unknown[]) => given(...args);
  return (...args: unknown[]) => void call(...args).catch(() => {});
};

const each = (kind: Parser<unknown>, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, kind]));

/** What each option must be, in whatever method: an option of one name is the same everywhere. */
const OPTIONS: Readonly<Record<string, Parser<unknown>>> = {
  ...each(text, 'host', 'restUrl', 'gsqlUrl'),
  ...each(name, 'graph', 'username', 'secretsOf'),
  // A number is no version: 3.10 is 3.1.
  ...each(text, 'serverVersion', 'knownVersion'),
  ...each(text, 'http', 'https', 'noProxy', 'ca', 'cert', 'key'),
  ...each(credential, 'password', 'secret', 'token', 'apiToken', 'jwtToken'),
  ...each(ofType('boolean'), 'setToken', 'skipNA', 'withAlias', 'ignoreErrors', 'keepRefusal', 'insecure'),
  ...each(ofType('number'), 'restPort', 'gsqlPort'),
  ...each(callback, 'onStart', 'onRequest', 'onVersion', 'onLifetimeUnit', 'onWarning'),
  tls: (value) => checked(value as object, 'tls.'),
  proxy: (value) => checked(value as object, 'proxy.'),
  timeoutMs: kindOf(
    `a number of milliseconds above 0, and at most ${LONGEST_TIMEOUT_MS}`,
    (value) => typeof value === 'number' && value > 0 && value <= LONGEST_TIMEOUT_MS,
  ),
  lifetime: kindOf(
    `a whole number of seconds, from 1 to ${MAX_LIFETIME}`,
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_LIFETIME,
  ),
  lifetimeUnit: kindOf("'s' or 'ms'", (value) => value === 's' || value === 'ms'),
  signal: kindOf('an AbortSignal', (value) => value instanceof AbortSignal),
  deadline: kindOf('a Deadline', (value) => value instanceof Deadline),
  body: kindOf('a string or a Uint8Array', (value) => isText(value) || value instanceof Uint8Array),
  headers: kindOf(
    'an object of strings',
    (value) => isObject(value) && isTexts(Object.values(Object(value))),
  ),
};
