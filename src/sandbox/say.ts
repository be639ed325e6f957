import { type Call, json, parseBody, type Reply, reply } from './call.js';
import { TEXTS, type TextId } from './texts.js';
import type { World } from './world.js';

type Values = Readonly<Record<string, string | number>>;

function fill(template: string, values: Values = {}): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}

/** Returns a line of GSQL text, and the return code that it ends the text with, if it does. */
export function lineOf(id: TextId, values?: Values): [line: string, code: number | undefined] {
  const { message, returnCode } = TEXTS[id];
  return [fill(message, values), returnCode];
}

/** Builds an answer whose body is the text itself. */
export function page(id: TextId, values?: Values): Reply {
  const { status = 200, body = 'text', message } = TEXTS[id];
  return reply(status, body, fill(message, values));
}

/** A refusal on its way out of the handlers: `replyOf` makes it the answer. */
class Refusal {
  readonly reply: Reply;
  constructor(reply: Reply) {
    this.reply = reply;
  }
}

/** Returns what the handler answers, also when that is a refusal. */
export function replyOf<T>(handler: () => T): T | Reply {
  try {
    return handler();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.reply;
    throw thrown;
  }
}

/** Ends the call with a refusal of the GSQL server: the code comes first, if there is one. */
export function refuse(id: TextId, values?: Values): never {
  const { status = 200, code, message, fields } = TEXTS[id];
  throw new Refusal(json(status, { code, error: true, message: fill(message, values), ...fields }));
}

export const ENVELOPE = { version: { edition: 'enterprise', api: 'v2', schema: 0 } };

/** Ends the call with a refusal of RESTPP, in its envelope, with the code at the end. */
export function refuseRestpp(id: TextId, values?: Values): never {
  const { status = 200, code, message } = TEXTS[id];
  throw new Refusal(json(status, { ...ENVELOPE, error: true, message: fill(message, values), code }));
}

/** Returns the object in the body of a request. */
export function requireBody(world: World, call: Call): Record<string, unknown> {
  const id = world.version.generation === '4' ? 'badBody4' : 'badBody3';
  return parseBody(call.body) ?? refuse(id);
}

/** Builds a success of the GSQL server, with further fields after the message and before it. */
export function succeed(id: TextId, values?: Values, after = {}, before = {}): Reply {
  const { status = 200, code, message } = TEXTS[id];
  return json(status, { code, ...before, error: false, message: fill(message, values), ...after });
}

/** Builds a success of the GSQL server without a message. */
export function results(value: unknown): Reply {
  return json(200, { error: false, message: '', results: value });
}
