/** The vertices of every graph of the sandbox: enough to see that a token gives access. */
const PEOPLE = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve'];
const CITIES = ['Athens', 'Bergen', 'Cork'];

export function vertices(type: string): unknown[] | undefined {
  if (type === 'Person') return PEOPLE.map((name, i) => vertex(type, name, { name, age: 25 + 3 * i }));
  if (type === 'City') return CITIES.map((name) => vertex(type, name, { name }));
  return undefined;
}

function vertex(type: string, id: string, attributes: Record<string, unknown>): unknown {
  return { v_id: id, v_type: type, attributes };
}
