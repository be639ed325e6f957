import { randomBytes } from 'node:crypto';
import type { Question } from './question.js';

/** Maps the names in braces to their values, for one run against one server. */
export type Values = Map<string, string>;

export interface Account {
  readonly user: string;
  readonly password: string;
  readonly graph: string;
}

/** Creates random values for each run, so that it never uses an alias or token of somebody else. */
export function newValues({ user, password, graph }: Account): Values {
  const prefix = `graphcred_conformance_${lettersAndDigits(8)}`;
  return new Map([
    ['user', user],
    ['password', password],
    ...(graph === '' ? [] : [['graph', graph] as const]),
    ['wrongPassword', `wrong_${lettersAndDigits(16)}`],
    ['noGraph', `${prefix}_no_graph`],
    ['alias1', `${prefix}_one`],
    ['alias2', `${prefix}_two`],
    ['alias3', `${prefix}_three`],
    ['noAlias', `${prefix}_none`],
    ['badSecret', lettersAndDigits(32)],
    ['badToken', lettersAndDigits(32)],
  ]);
}

export function lettersAndDigits(length: number): string {
  // The first character is a letter, so that the value is never read as a number.
  return `x${randomBytes(length).toString('hex')}`.slice(0, length);
}

export const ALIASES = ['alias1', 'alias2', 'alias3'] as const;

/** Whether a name gets its value only from an answer of the server. */
export function isLearned(name: string): boolean {
  return /^(?:secret\d|token\d|expired|blocked\d+|extra\d+)$/.test(name);
}

export function fillIn(template: string, values: Values): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => values.get(name) ?? mark);
}

export function fillUrl(template: string, values: Values): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => encodeURIComponent(values.get(name) ?? mark));
}

/** Returns the names that the request contains. */
export function namesIn({ path, query, json, text, login }: Question): string[] {
  const written = JSON.stringify([path, query, json, text]);
  const names = [...written.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (typeof login === 'object') names.push('bearer' in login ? login.bearer : login.secret);
  return names;
}
