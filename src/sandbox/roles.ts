import type { User } from './state.js';
import type { World } from './world.js';

/** Returns the privileges of a user by graph name; `1` stands for all graphs. */
export function rolesOf(world: World, user: User): { privileges: unknown; roles: unknown } {
  const perGraph = (value: unknown) =>
    Object.fromEntries(['1', ...world.state.graphs].map((graph) => [graph, value]));
  const reader = user.role === 'reader';
  return {
    privileges: perGraph({
      privileges: reader ? ['READ_SCHEMA', 'READ_DATA'] : ['READ_SCHEMA', 'READ_DATA', 'WRITE_DATA'],
    }),
    roles: perGraph([reader ? 'queryreader' : user.role]),
  };
}
