// What the GSQL servers of 3.x and 4.x both answer.

import { requireLoginFor, seesGraph } from '../authenticate.js';
import type { Call, Reply } from '../call.js';
import { EDGE_TYPES, VERTEX_TYPES } from '../graph.js';
import { ok, refuse } from '../say.js';
import type { User } from '../state.js';
import type { World } from '../world.js';
import { GSQL } from './texts.js';

/** Returns the privileges of a user by graph name; `1` stands for all graphs. */
export function rolesOf(world: World, user: User): { privileges: unknown; roles: unknown } {
  const perGraph = (value: unknown) =>
    Object.fromEntries(['1', ...world.state.graphs].map((graph) => [graph, value]));
  const reader = user.role === 'reader';
  const privileges = ['READ_SCHEMA', 'READ_DATA', ...(reader ? [] : ['WRITE_DATA'])];
  return { privileges: perGraph({ privileges }), roles: perGraph([reader ? 'queryreader' : user.role]) };
}

/** Answers with the schema of one graph, or with one of its types (`?type=`). */
export function schemaReply(world: World, call: Call, graph: string): Reply {
  const caller = requireLoginFor(world, call, graph);
  if (!seesGraph(world, caller, graph)) refuse(GSQL.schemaUnknownGraph, { graph });
  const type = call.query.get('type') || undefined;
  if (type === undefined)
    return ok({ results: { GraphName: graph, VertexTypes: VERTEX_TYPES, EdgeTypes: EDGE_TYPES } });
  const results = [...VERTEX_TYPES, ...EDGE_TYPES].find(({ Name }) => Name === type);
  return results ? ok({ results }) : refuse(GSQL.schemaUnknownType, { type });
}
