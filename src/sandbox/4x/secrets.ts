import { findUser, requireLoginFor } from '../authenticate.js';
import { type Call, listField, parseBody, type Reply } from '../call.js';
import { ok, refuse, succeed } from '../say.js';
import { ALIAS, dropSecret, findSecret, newSecret, type Secret, secretsOf, type User } from '../state.js';
import type { Handler, World } from '../world.js';
import { V4 } from './texts.js';

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
  if (name !== user.name && user.role !== 'superuser') refuse(V4.needSuperuser, { user: name });
  if (call.method === 'POST' && user.role === 'reader') refuse(V4.mayNotCreate, { user: name });
  return findUser(world, name) ?? refuse(V4.unknownUser, { user: name });
}

const shown = ({ alias, value }: Secret) => ({ alias, value });

function create(world: World, call: Call): Reply {
  const owner = ownerOf(world, call);
  const alias = call.query.get('alias') || undefined;
  const value = call.query.get('value') || undefined;
  if (alias !== undefined && !ALIAS.test(alias)) refuse(V4.badAlias, { alias });
  if (value !== undefined && !VALUE.test(value)) refuse(V4.badValue);
  if (alias !== undefined && secretsOf(world.state, owner.name, null).some((s) => s.alias === alias))
    refuse(V4.aliasTaken, { alias });
  if (world.state.secrets.some((s) => s.value === value)) refuse(V4.valueTaken);
  return ok({ results: shown(newSecret(world.state, owner.name, null, alias, value)) });
}

function list(world: World, call: Call): Reply {
  const own = secretsOf(world.state, ownerOf(world, call).name, null).map(shown);
  return ok({ results: world.switches.secretsShape === 'list' ? own : (own[0] ?? {}) });
}

function show(world: World, call: Call, alias: string): Reply {
  const secret = secretsOf(world.state, ownerOf(world, call).name, null).find((s) => s.alias === alias);
  return secret ? ok({ results: shown(secret) }) : refuse(V4.noSuchSecret, { alias });
}

function dropNamed(world: World, call: Call): Reply {
  const owner = ownerOf(world, call);
  const { secrets, secrests } = parseBody(call.body) ?? {};
  // The documentation misspells the key three times.
  const names = listField(secrets ?? secrests);
  return names.length > 0 ? drop(world, owner, names) : refuse(V4.noSecretsNamed);
}

/** Drops secrets. If one entry is unknown, nothing is dropped. */
function drop(world: World, owner: User, names: string[]): Reply {
  const own = secretsOf(world.state, owner.name, null);
  const find = (name: string) => findSecret(own, name);
  const unknown = names.filter((name) => !find(name));
  if (unknown.length > 0) refuse(V4.unknownAlias, { alias: unknown.join(', ') });
  for (const secret of names.flatMap((name) => find(name) ?? [])) dropSecret(world.state, secret);
  return succeed(V4.secretsDropped, { user: owner.name });
}
