import { json, type Reply, reply } from './call.js';

/**
 * An answer. `{name}` marks in the message are filled in. The comment above one says in which case a server sends it,
 * unless its name and its words do, and where that is known from. What no source says is assumed, and so is the status of
 * a refusal, unless a source is named for it.
 */
export interface Text {
  /** The HTTP status; absent for a line of GSQL text, which always comes with 200. */
  readonly status?: number | undefined;
  /** The server's own error code. */
  readonly code?: string | undefined;
  readonly returnCode?: number;
  /** With `body`, the whole body; otherwise the message in it. */
  readonly message: string;
  readonly body?: 'json' | 'text' | 'html' | undefined;
  /** In the envelope of RESTPP, with the code at the end. */
  readonly ofRestpp?: boolean;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export function said(status: number, message: string, more: Partial<Text> = {}): Text {
  return { status, message, ...more };
}

type Values = Readonly<Record<string, string | number>>;

export function fill(template: string, values: Values = {}): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}

export function page({ status = 200, body = 'text', message }: Text, values?: Values): Reply {
  return reply(status, body, fill(message, values));
}

/** Returns what the handler answers, also when that is a refusal, which it throws. */
export function replyOf<T>(handler: () => T): T | Reply {
  try {
    return handler();
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    return thrown as Reply;
  }
}

export const ENVELOPE = { version: { edition: 'enterprise', api: 'v2', schema: 0 } };

/** Ends the call with a refusal. The GSQL server puts the code first, if there is one. */
export function refuse({ status = 200, code, message, fields, ofRestpp }: Text, values?: Values): never {
  const said = { error: true, message: fill(message, values) };
  throw json(status, ofRestpp ? { ...ENVELOPE, ...said, code } : { code, ...said, ...fields });
}

/** Builds a success of the GSQL server, with further fields after the message and before it. */
export function succeed({ status = 200, code, message }: Text, values?: Values, after = {}, before = {}) {
  return json(status, { code, ...before, error: false, message: fill(message, values), ...after });
}

export function ok(fields: object): Reply {
  return json(200, { error: false, message: '', ...fields });
}
