// The content of every graph of the sandbox: enough to see that a token gives access.
const attribute = (name: string, type: string) => ({ AttributeType: { Name: type }, AttributeName: name });

const vertexType = (name: string, attributes: readonly object[]) => ({
  Config: { STATS: 'OUTDEGREE_BY_EDGETYPE' },
  Attributes: attributes,
  PrimaryId: attribute('id', 'STRING'),
  Name: name,
});

export const VERTEX_TYPES = [
  vertexType('Person', [attribute('name', 'STRING'), attribute('age', 'INT')]),
  vertexType('City', [attribute('name', 'STRING')]),
];
export const EDGE_TYPES = [
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
