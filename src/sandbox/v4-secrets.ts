import { listField, parseBody } from './body.js';
import { type Call, json, percentDecode, type Reply } from './call.js';
import { findUser, login } from './login.js';
import { dropSecret, findSecret, newSecret, type Secret, type User } from './state.js';
import { REST_4 } from './texts.js';
import { notLoggedIn, refusal4 } from './v4-refusal.js';
import type { World } from './world.js';

const ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;
// No comma: lists of secrets are separated by them.
const VALUE = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** `/gsql/v1/secrets` and `/gsql/v1/secrets/{alias}`: secrets of a user, in plain text. */
export function secrets4(world: World, call: Call, path: string): Reply | undefined {
  const name = path.startsWith('/secrets/') ? percentDecode(path.slice('/secrets/'.length)) : '';
  const owner = secretsOf(world, call);
  if ('status' in owner) return owner;
  switch (`${call.method} ${name === '' ? 'all' : 'one'}`) {
    case 'POST all':
      return create(world, call, owner);
    case 'GET all':
      return list(world, owner);
    case 'GET one': {
      const secret = world.state.secrets.find((s) => s.user === owner.name && s.alias === name);
      return secret ? success(shown(secret)) : refusal4(REST_4.noSuchSecret, { alias: name });
    }
    case 'DELETE one':
      return drop(world, owner, [name]);
    case 'DELETE all': {
      const body = parseBody(call.body);
      // The user-credentials page spells the key like this three times.
      const names = body && listField(body.secrets ?? body.secrests);
      return names && names.length > 0 ? drop(world, owner, names) : refusal4(REST_4.noSecretsNamed);
    }
    default:
      return undefined;
  }
}

/** Whose secrets the call is about: one's own, or a superuser's choice by `userName`. */
function secretsOf(world: World, call: Call): User | Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(caller);
  const name = call.query.get('userName');
  if (!name || name === caller.user.name) return mayCreate(call, caller.user) ?? caller.user;
  if (caller.user.role !== 'superuser') return refusal4(REST_4.needSuperuser, { user: name });
  return findUser(world, name) ?? refusal4(REST_4.unknownUser, { user: name });
}

function mayCreate(call: Call, user: User): Reply | undefined {
  return call.method === 'POST' && user.role === 'reader' ? refusal4(REST_4.mayNotCreate) : undefined;
}

function success(results: unknown): Reply {
  return json(200, { error: false, message: '', results });
}

function shown(secret: Secret): { alias: string; value: string } {
  return { alias: secret.alias, value: secret.value };
}

function create(world: World, call: Call, owner: User): Reply {
  const alias = call.query.get('alias') || undefined;
  const value = call.query.get('value') || undefined;
  if (alias !== undefined && !ALIAS.test(alias)) return refusal4(REST_4.badAlias, { alias });
  if (value !== undefined && !VALUE.test(value)) return refusal4(REST_4.badValue);
  if (alias !== undefined && world.state.secrets.some((s) => s.user === owner.name && s.alias === alias)) {
    return refusal4(REST_4.aliasTaken, { alias });
  }
  if (world.state.secrets.some((s) => s.value === value)) return refusal4(REST_4.valueTaken);
  const secret = newSecret(world.state, owner.name, null, alias, value);
  world.changed();
  return success(shown(secret));
}

function list(world: World, owner: User): Reply {
  const own = world.state.secrets.filter((s) => s.user === owner.name).map(shown);
  return success(world.switches.secretsShape === 'list' ? own : (own[0] ?? {}));
}

/** All or nothing: one unknown entry and nothing is dropped. */
function drop(world: World, owner: User, names: string[]): Reply {
  const found = names.map((name) => findSecret(world.state, owner.name, null, name));
  const unknown = names.filter((_, i) => !found[i]);
  if (unknown.length > 0) return refusal4(REST_4.unknownAlias, { alias: unknown.join(', ') });
  for (const secret of found) dropSecret(world.state, secret!);
  world.changed();
  return json(200, { error: false, message: `Successfully removed the secrets for user ${owner.name}.` });
}
