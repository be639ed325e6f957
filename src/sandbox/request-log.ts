import { type Call, parseBody, readAuthorization } from './call.js';
import type { State } from './state.js';

export interface RequestLogEntry extends ReturnType<typeof describe> {
  /** By the sandbox's clock, RFC 3339 UTC. */
  readonly time: string;
  /** 0 when the connection was dropped without an answer. */
  readonly status: number;
  readonly milliseconds: number;
  readonly faults: readonly string[];
}

const PLAIN_PARAMETER = /^(lifetime|graph|limit|userName|async|timeout|verbose|clear)$/;
const PLAIN_FIELD = /^(secret|graph|lifetime|token|tokens|secrets|secrests|user)$/;
const LOGIN = /^(none|basic|bearer|gsql-secret)$/;

/** Says what a call asks for, without any credential: values of unknown or secret parameters are `****`. */
export function describe(call: Call, state: State) {
  const login = readAuthorization(call).scheme || 'none';
  const query: Record<string, string> = {};
  for (const [name, value] of call.query) {
    if (PLAIN_PARAMETER.test(name)) query[name] = value;
    else if (name === 'alias') query[name] = maskText(value, state);
    else query[maskText(name, state)] = '****';
  }
  const body = call.body.length < 65_536 ? parseBody(call.body) : undefined;
  return {
    server: call.server,
    method: call.method,
    path: maskPath(call.path, state),
    query,
    login: LOGIN.test(login) ? login : 'other',
    fields: Object.keys(body ?? {}).filter((name) => PLAIN_FIELD.test(name)),
    /** The statements of a GSQL text about secrets, for example `DROP SECRET`; without aliases. */
    statements: /\/(?:file|command|statements)$/.test(call.path) ? statementsIn(call.body) : [],
  };
}

function statementsIn(text: string): string[] {
  const found = text.matchAll(/(CREATE|SHOW|DROP)(?:\s|\+|%20|%0A)+SECRET(?![a-z_])/gi);
  return [...found].map(([, verb]) => `${verb?.toUpperCase()} SECRET`);
}

/** Masks a secret or token that is used as an alias in a path: `DELETE /gsql/v1/secrets/{secret}`. */
export function maskPath(path: string, state: State): string {
  return path.replace(/[^/]+/g, (segment) => maskText(segment, state));
}

function maskText(given: string, state: State): string {
  const isLong = /[A-Za-z0-9_-]{24,}/.test(given.replace(/AUTO_GENERATED_ALIAS_/, ''));
  return isLong || state.secrets.some((s) => s.value === given) ? '****' : given;
}
