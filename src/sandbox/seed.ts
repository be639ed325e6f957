import type { State, User } from './state.js';
import type { Generation } from './version.js';

interface Seeds {
  readonly users?: readonly User[];
  readonly graphs?: readonly string[];
  readonly secrets?: readonly { alias: string; value: string; user: string; graph: string }[];
}

/** Puts what the options name into the state; what a state file brought along stays. */
export function seed(state: State, seeds: Seeds, generation: Generation): void {
  const users = seeds.users ?? [];
  const kept = state.users.filter((user) => !users.some((u) => u.name === user.name));
  state.users = [...users, ...kept];
  if (state.users.length === 0)
    state.users = [{ name: 'tigergraph', password: 'tigergraph', role: 'superuser' }];
  state.graphs = [...new Set([...(seeds.graphs ?? []), ...state.graphs])];
  if (state.graphs.length === 0) state.graphs = ['demo'];

  for (const given of seeds.secrets ?? []) {
    if (!state.users.some((user) => user.name === given.user)) {
      throw new Error(
        `The secret ${given.alias} names the user ${given.user}, who is not there; add --user ${given.user}:password.`,
      );
    }
    if (!state.graphs.includes(given.graph)) {
      throw new Error(
        `The secret ${given.alias} names the graph ${given.graph}, which is not there; add --graph ${given.graph}.`,
      );
    }
    const graph = generation === 'C' ? null : given.graph;
    const same = (s: { alias: string; user: string; graph: string | null }) =>
      s.alias === given.alias && s.user === given.user && s.graph === graph;
    state.secrets = [...state.secrets.filter((s) => !same(s)), { ...given, graph }];
  }
}
