import { findUser, requireLoginFor } from '../authenticate.js';
import { type Call, listField, parseBody, type Reply } from '../call.js';
import { refuse, results, succeed } from '../say.js';
import { ALIAS, dropSecret, findSecret, newSecret, type Secret, secretsOf, type User } from '../state.js';
import type { Handler, World } from '../world.js';

// A value holds no comma, because commas separate the secrets of a list.
const VALUE = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** `/gsql/v1/secrets` and `/gsql/v1/secrets/{alias}`: secrets of a user, in plain text. */
export const SECRET_ANSWERS: Readonly<Record<string, Handler>> = {
  'POST /secrets/?': create,
  'GET /secrets/?': list,
  'GET /secrets/(.+)': show,
  'DELETE /secrets/?': dropNamed,
  'DELETE /secrets/(.+)': (world, call, alias) => drop(world, ownerOf(world, call), [alias]),
};

/** Returns the owner of the secrets: the caller, or for a superuser the user named by `userName`. */
function ownerOf(world: World, call: Call): User {
  const { user } = requireLoginFor(world, call, undefined);
  const name = call.query.get('userName') || user.name;
  if (name !== user.name && user.role !== 'superuser') refuse('needSuperuser4', { user: name });
  if (call.method === 'POST' && user.role === 'reader') refuse('mayNotCreate4', { user: name });
  return findUser(world, name) ?? refuse('unknownUser4', { user: name });
}

const shown = ({ alias, value }: Secret) => ({ alias, value });

function create(world: World, call: Call): Reply {
  const owner = ownerOf(world, call);
  const alias = call.query.get('alias') || undefined;
  const value = call.query.get('value') || undefined;
  if (alias !== undefined && !ALIAS.test(alias)) refuse('badAlias4', { alias });
  if (value !== undefined && !VALUE.test(value)) refuse('badValue4');
  if (alias !== undefined && secretsOf(world.state, owner.name, null).some((s) => s.alias === alias))
    refuse('aliasTaken4', { alias });
  if (world.state.secrets.some((s) => s.value === value)) refuse('valueTaken4');
  const secret = newSecret(world.state, owner.name, null, alias, value);
  return results(shown(secret));
}

function list(world: World, call: Call): Reply {
  const own = secretsOf(world.state, ownerOf(world, call).name, null).map(shown);
  return results(world.switches.secretsShape === 'list' ? own : (own[0] ?? {}));
}

function show(world: World, call: Call, alias: string): Reply {
  const secret = secretsOf(world.state, ownerOf(world, call).name, null).find((s) => s.alias === alias);
  return secret ? results(shown(secret)) : refuse('noSuchSecret4', { alias });
}

function dropNamed(world: World, call: Call): Reply {
  const owner = ownerOf(world, call);
  const { secrets, secrests } = parseBody(call.body) ?? {};
  // The documentation on user credentials misspells the key like this three times, so it is accepted.
  const names = listField(secrets ?? secrests);
  return names.length > 0 ? drop(world, owner, names) : refuse('noSecretsNamed4');
}

/** Drops secrets. If one entry is unknown, nothing is dropped. */
function drop(world: World, owner: User, names: string[]): Reply {
  const find = (name: string) => findSecret(world.state, owner.name, null, name);
  const unknown = names.filter((name) => !find(name));
  if (unknown.length > 0) refuse('unknownAlias4', { alias: unknown.join(', ') });
  for (const secret of names.flatMap((name) => find(name) ?? [])) dropSecret(world.state, secret);
  return succeed('secretsDropped4', { user: owner.name });
}
