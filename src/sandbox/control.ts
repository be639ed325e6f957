import { type Call, failure, json, type Reply } from './call.js';
import { arm, checkFault, type Fault, parseFault } from './faults/faults.js';
import { chooseTexts, listTexts } from './say.js';
import { setSwitches } from './switches.js';
import type { World } from './world.js';

/** What the control path shows, by the last part of the path; a change shows what it has changed. */
const SHOWN: Readonly<Record<string, (world: World) => unknown>> = {
  requests: ({ requests, unknownRoutes }) => ({ requests, unknownRoutes }),
  faults: ({ faults }) => ({ faults: faults.map(({ fault }) => fault) }),
  clock: ({ clockOffset }) => ({ offset: clockOffset }),
  switches: ({ switches }) => switches,
  texts: listTexts,
};

const CHANGES: Readonly<Record<string, (world: World, body: string) => unknown>> = {
  'POST faults': ({ faults }, body) => faults.push(...arm(readFaults(body))),
  'DELETE faults': ({ faults }) => faults.splice(0),
  'POST clock': setClock,
  'POST switches': ({ switches }, body) => setSwitches(switches, readObject(body)),
  'POST texts': ({ texts }, body) => chooseTexts(texts, readObject(body)),
};

/**
 * Answers requests to `/__sandbox/…`, on both ports: the sandbox's own interface, which no real server has. It needs
 * no login, and its requests are not logged.
 */
export function control(world: World, { method, path, body }: Call): Reply {
  const name = path.slice('/__sandbox/'.length);
  const change = CHANGES[`${method} ${name}`];
  const isThere = Object.hasOwn(SHOWN, name) && (method === 'GET' || change);
  const show = isThere ? SHOWN[name] : undefined;
  if (!show) return failure(404, 'See docs/dev/sandbox.md for the control path.');
  try {
    change?.(world, body);
    return json(200, show(world));
  } catch (error) {
    return failure(400, error instanceof Error ? error.message : 'Bad request.');
  }
}

function setClock(world: World, body: string): void {
  const { offset } = readObject(body) as { offset?: unknown };
  if (typeof offset !== 'number' || !(Math.abs(offset) <= 1e11)) throw new Error('Send {"offset": seconds}.');
  world.clockOffset = offset;
}

/** Reads faults from a body: one fault as JSON, a list of them, or the string form of `--fault`, one a line. */
function readFaults(body: string): Fault[] {
  if (!/^\s*[[{]/.test(body)) {
    return body
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(parseFault);
  }
  const given = readJson(body);
  return (Array.isArray(given) ? given : [given]).map((one) => checkFault(one as Fault));
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error('The body is not valid JSON.');
  }
}

function readObject(body: string): object {
  const given = readJson(body);
  if (typeof given !== 'object' || given === null) throw new Error('Send a JSON object.');
  return given;
}
