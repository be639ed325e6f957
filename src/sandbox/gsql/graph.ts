// The content of every graph of the sandbox, enough to see that a token gives access, and what the GSQL servers say of it.
import { requireLoginFor, seesGraph } from '../authenticate.js';
import type { Call, Reply } from '../call.js';
import { ok, refuse } from '../say.js';
import type { User } from '../state.js';
import type { World } from '../world.js';
import { GSQL } from './texts.js';

const attribute = (name: string, type: string) => ({ AttributeType: { Name: type }, AttributeName: name });

const vertexType = (name: string, attributes: readonly object[]) => ({
  Config: { STATS: 'OUTDEGREE_BY_EDGETYPE' },
  Attributes: attributes,
  PrimaryId: attribute('id', 'STRING'),
  Name: name,
});

const VERTEX_TYPES = [
  vertexType('Person', [attribute('name', 'STRING'), attribute('age', 'INT')]),
  vertexType('City', [attribute('name', 'STRING')]),
];
const EDGE_TYPES = [
  {
    IsDirected: true,
    FromVertexTypeName: 'Person',
    ToVertexTypeName: 'City',
    Config: {},
    Attributes: [],
    Name: 'lives_in',
  },
];

const PEOPLE = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve'].map((name, i) => ({ name, age: 25 + 3 * i }));
const CITIES = ['Athens', 'Bergen', 'Cork'].map((name) => ({ name }));

export function vertices(type: string): unknown[] | undefined {
  const all = type === 'Person' ? PEOPLE : type === 'City' ? CITIES : undefined;
  return all?.map((attributes) => ({ v_id: attributes.name, v_type: type, attributes }));
}

/** The built-in paths of the REST server that the sandbox answers; no query is installed. */
export const ENDPOINTS = {
  'GET /echo': {},
  'GET /endpoints': {},
  'GET /graph/{graph_name}/vertices/{vertex_type}': {},
  'GET /version': {},
  'POST /echo': {},
};

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
