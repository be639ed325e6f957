import { login } from '../authenticate.js';
import { type Call, decodeForm, json, type Reply, text } from '../call.js';
import { runGsql } from '../gsql/statements.js';
import { fill, refuse, succeed, wording } from '../say.js';
import { deleteOldest, randomString } from '../state.js';
import type { World } from '../world.js';
import { notLoggedIn } from './refusal.js';

const MAX_FINISHED = 100;

/** Runs GSQL that is sent as plain text, not URL-encoded (switch gsqlBodyOn4). Failures are in the text; the status is 200. */
export function statement(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(world, caller);
  const source = world.switches.gsqlBodyOn4 === 'decoded' ? decodeForm(call.body) : call.body;
  const answer = runGsql(world, { login: caller, graph: null }, source);
  if (call.query.get('async') !== 'true') {
    const trailer = world.switches.trailersOn4 ? `__GSQL__RETURN__CODE__,${answer.code}\n` : '';
    return { ...text(200, answer.text), trailer };
  }
  const id = `00000000.${randomString(9)}`;
  world.finished.set(id, {
    user: caller.user.name,
    endTime: new Date(world.now()).toISOString(),
    succeeded: answer.code === 0,
    text: answer.text,
  });
  if (world.finished.size > MAX_FINISHED) deleteOldest(world.finished);
  return succeed(world, 'statementQueued4', { id }, { results: { requestId: id } });
}

/**
 * Answers with the result of a statement sent with `?async=true`. In the sandbox the statement has always ended
 * already.
 */
export function statementStatus(world: World, call: Call, id: string): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(world, caller);
  const found = world.finished.get(id);
  if (found?.user !== caller.user.name) return refuse(world, 'statementUnknown4', { id });
  const outcome = found.succeeded ? 'SUCCESS' : 'FAILED';
  const { status = 200, message } = wording(world, 'statementDone4');
  return json(status, {
    endTime: found.endTime,
    error: !found.succeeded,
    message: fill(message, { id, outcome }),
    results: found.text,
  });
}
