import { type Call, failure, json, type Reply } from './call.js';
import { arm, checkFault, type Fault, parseFault } from './faults/faults.js';
import { chooseTexts, listTexts } from './say.js';
import { setSwitches } from './switches.js';
import type { World } from './world.js';

/**
 * Answers requests to `/__sandbox/…`, on both ports: the sandbox's own interface, which no real server has. It needs
 * no login, and its requests are not logged.
 */
export function control(world: World, call: Call): Reply {
  const listed = () => json(200, { faults: world.faults.map(({ fault }) => fault) });
  try {
    switch (`${call.method} ${call.path.slice('/__sandbox/'.length)}`) {
      case 'GET requests':
        return json(200, { requests: world.requests, unknownRoutes: world.unknownRoutes });
      case 'GET faults':
        return listed();
      case 'POST faults':
        world.faults.push(...arm(readFaults(call.body)));
        return listed();
      case 'DELETE faults':
        world.faults.length = 0;
        return listed();
      case 'POST clock': {
        const { offset } = readObject(call.body) as { offset?: unknown };
        if (typeof offset !== 'number' || !(Math.abs(offset) <= 1e11))
          throw new Error('Send {"offset": seconds}.');
        world.clockOffset = offset;
        return json(200, { offset });
      }
      case 'GET switches':
        return json(200, world.switches);
      case 'POST switches':
        setSwitches(world.switches, readObject(call.body));
        return json(200, world.switches);
      case 'GET texts':
        return json(200, listTexts(world));
      case 'POST texts':
        chooseTexts(world.texts, readObject(call.body));
        return json(200, listTexts(world));
      default:
        return failure(404, 'See docs/dev/sandbox.md for the control path.');
    }
  } catch (error) {
    return failure(400, error instanceof Error ? error.message : 'Bad request.');
  }
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
