import { type Call, json, parseBody, type Reply, reply } from './call.js';
import { TEXTS, type TextChoice, type TextId } from './texts.js';
import type { Wording } from './wording.js';
import type { World } from './world.js';

type Values = Readonly<Record<string, string | number>>;

const STATUSES = [200, 400, 401, 403, 404, 500];

/** Sets texts, all or none. Throws an Error with one clear sentence. */
export function chooseTexts(chosen: Map<TextId, Wording>, given: object): void {
  const checked = Object.entries(given).map(([id, choice]) => [id as TextId, worded(id, choice)] as const);
  for (const [id, wording] of checked) chosen.set(id, wording);
}

function worded(id: string, choice: unknown): Wording {
  const text = Object.hasOwn(TEXTS, id) ? TEXTS[id as TextId] : undefined;
  if (!text) throw new Error(`There is no such text: ${id}. GET /__sandbox/texts lists them.`);
  const { status = text.status, code = text.code, message = text.message } = Object(choice) as TextChoice;
  const isStatus = status === text.status || (text.status !== undefined && STATUSES.includes(Number(status)));
  const isCode = code === null || ['string', 'undefined'].includes(typeof code);
  if (Object(choice) !== choice || !isStatus || !isCode || typeof message !== 'string')
    throw new Error(
      `Send {"<text>": {"status": …, "code": …, "message": …}}; the status is one of ${STATUSES.join(', ')}, and a line of GSQL text has none.`,
    );
  return { ...text, status, code: code ?? undefined, message };
}

/** Returns all texts with their current wording, for `/__sandbox/texts`. */
export function listTexts(world: World): unknown {
  return Object.fromEntries(
    (Object.keys(TEXTS) as TextId[]).map((id) => {
      const { status, code, message } = wording(world, id);
      const { evidence = 'A' } = TEXTS[id];
      return [id, { status, code, message, evidence }];
    }),
  );
}

function wording(world: World, id: TextId): Wording {
  return world.texts.get(id) ?? TEXTS[id];
}

function fill(template: string, values: Values = {}): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}

/** Returns a line of GSQL text, and the return code that it ends the text with, if it does. */
export function lineOf(world: World, id: TextId, values?: Values): [line: string, code: number | undefined] {
  const { message, returnCode } = wording(world, id);
  return [fill(message, values), returnCode];
}

/** Builds an answer whose body is the text itself. */
export function page(world: World, id: TextId, values?: Values): Reply {
  const { status = 200, body = 'text', message } = wording(world, id);
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
export function refuse(world: World, id: TextId, values?: Values): never {
  const { status = 200, code, message, fields } = wording(world, id);
  throw new Refusal(json(status, { code, error: true, message: fill(message, values), ...fields }));
}

export const ENVELOPE = { version: { edition: 'enterprise', api: 'v2', schema: 0 } };

/** Ends the call with a refusal of RESTPP, in its envelope, with the code at the end. */
export function refuseRestpp(world: World, id: TextId, values?: Values): never {
  const { status = 200, code, message } = wording(world, id);
  throw new Refusal(json(status, { ...ENVELOPE, error: true, message: fill(message, values), code }));
}

/** Returns the object in the body of a request. */
export function requireBody(world: World, call: Call): Record<string, unknown> {
  const id = world.version.generation === '4' ? 'badBody4' : 'badBody3';
  return parseBody(call.body) ?? refuse(world, id);
}

/** Builds a success of the GSQL server, with further fields after the message and before it. */
export function succeed(world: World, id: TextId, values?: Values, after = {}, before = {}): Reply {
  const { status = 200, code, message } = wording(world, id);
  return json(status, { code, ...before, error: false, message: fill(message, values), ...after });
}

/** Builds a success of the GSQL server without a message. */
export function results(value: unknown): Reply {
  return json(200, { error: false, message: '', results: value });
}
