import type { Login } from '../authenticate.js';
import type { Reply } from '../call.js';
import { refuse } from '../say.js';
import type { User } from '../state.js';
import type { World } from '../world.js';

export function notLoggedIn(world: World, refused: Exclude<Login, { user: User }>): Reply {
  if (refused.refused === 'throttled') return refuse(world, 'tooManyLogins4', { seconds: refused.seconds });
  return refuse(world, refused.refused === 'none' ? 'noLogin4' : 'badLogin4');
}

/**
 * Returns the refusal for a token that is used outside its graph: for another graph, or for requests about all graphs.
 */
export function beyondGraph(world: World, caller: Login, wanted: string | undefined): Reply | undefined {
  if (!('by' in caller) || caller.by !== 'token' || caller.graph === '' || caller.graph === wanted) {
    return undefined;
  }
  const target = wanted === undefined ? 'global' : `graph ${wanted}`;
  return refuse(world, 'wrongScope4', { graph: caller.graph, target });
}
