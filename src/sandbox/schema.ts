import { beyondGraph, notLoggedIn } from './4x/refusal.js';
import { login, seesGraph } from './authenticate.js';
import { type Call, json, percentDecode, type Reply } from './call.js';
import { refuse } from './say.js';
import type { World } from './world.js';

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

/** Answers with the schema of one graph, or with one of its types (`?type=`). */
export function schemaReply(world: World, call: Call, name: string): Reply {
  const graph = percentDecode(name);
  const caller = login(world, call);
  if (!('user' in caller))
    return world.version.generation === '4' ? notLoggedIn(world, caller) : refuse(world, 'unauthorized3');
  const beyond = beyondGraph(world, caller, graph);
  if (beyond) return beyond;
  if (!seesGraph(world, caller, graph)) return refuse(world, 'schemaUnknownGraph', { graph });
  const type = call.query.get('type') || undefined;
  const all = { GraphName: graph, VertexTypes: VERTEX_TYPES, EdgeTypes: EDGE_TYPES };
  const results =
    type === undefined ? all : [...VERTEX_TYPES, ...EDGE_TYPES].find(({ Name }) => Name === type);
  return results
    ? json(200, { error: false, message: '', results })
    : refuse(world, 'schemaUnknownType', { type: type ?? '' });
}

/** Answers with the names of all graphs, 4.x. */
export function graphsReply(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(world, caller);
  const beyond = beyondGraph(world, caller, undefined);
  const graphs = world.state.graphs.map((GraphName) => ({ GraphName }));
  return beyond ?? json(200, { error: false, message: '', graphs });
}

/** The built-in paths of the REST server that the sandbox answers; no query is installed. */
export const ENDPOINTS = {
  'GET /echo': {},
  'GET /endpoints': {},
  'GET /graph/{graph_name}/vertices/{vertex_type}': {},
  'GET /version': {},
  'POST /echo': {},
};
