import type { Generation } from './server-version.js';
import type { Secret, State, User } from './state.js';

interface Seeds {
  readonly users?: readonly User[];
  readonly graphs?: readonly string[];
  readonly secrets?: readonly { alias: string; value: string; user: string; graph: string }[];
}

const DEFAULT_USER: User = { name: 'tigergraph', password: 'tigergraph', role: 'superuser' };

/**
 * Adds the users, graphs and secrets of the options to the state; other content of the state file stays. Returns the
 * first user and the first graph, which the sandbox prints when it is ready.
 */
export function seed(
  state: State,
  seeds: Seeds,
  generation: Generation,
): { readonly user: User; readonly graph: string } {
  const named = seeds.users ?? [];
  const stored = state.users.filter((user) => !named.some((u) => u.name === user.name));
  const [user = DEFAULT_USER, ...otherUsers] = [...named, ...stored];
  state.users = [user, ...otherUsers];
  const [graph = 'demo', ...otherGraphs] = new Set([...(seeds.graphs ?? []), ...state.graphs]);
  state.graphs = [graph, ...otherGraphs];

  for (const given of seeds.secrets ?? []) {
    if (!state.users.some((user) => user.name === given.user)) {
      throw new Error(
        `The secret ${given.alias} belongs to the user ${given.user}, who does not exist; add --user ${given.user}:password.`,
      );
    }
    if (!state.graphs.includes(given.graph)) {
      throw new Error(
        `The secret ${given.alias} belongs to the graph ${given.graph}, which does not exist; add --graph ${given.graph}.`,
      );
    }
    const secret = { ...given, graph: generation === '4' ? null : given.graph };
    const isSame = (other: Secret) =>
      other.alias === secret.alias && other.user === secret.user && other.graph === secret.graph;
    state.secrets = [...state.secrets.filter((other) => !isSame(other)), secret];
  }
  return { user, graph };
}
