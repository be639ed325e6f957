import { notLoggedIn } from './4x/refusal.js';
import { login } from './authenticate.js';
import { parseBody } from './body.js';
import type { Call, Reply } from './call.js';
import { refuse, succeed } from './say.js';
import type { Token } from './state.js';
import { nowSeconds, type World } from './world.js';

/**
 * Answers `DELETE /expiredtoken` of 3.7 to 4.x, which deletes the expired tokens of the named users and secrets, or of
 * everybody. For other users' tokens the caller needs the privilege WRITE_USER, which here a superuser has. If one
 * name is refused, nothing is deleted.
 */
export function dropExpired(world: World, call: Call): Reply {
  const major4 = world.version.generation === '4';
  const caller = login(world, call);
  if (!('user' in caller)) return major4 ? notLoggedIn(world, caller) : refuse(world, 'unauthorized3');
  const body = parseBody(call.body);
  if (!body) return refuse(world, major4 ? 'badBody4' : 'badBody3');
  const strings = (name: string) => (Array.isArray(body[name]) ? body[name].map(String) : []);
  const [users, values] = [strings('user'), strings('secret')];

  const secrets = values.flatMap((value) => world.state.secrets.find((s) => s.value === value) ?? []);
  const unknownUsers = users.filter((name) => !world.state.users.some((u) => u.name === name));
  const count = unknownUsers.length + values.length - secrets.length;
  if (count > 0) return refuse(world, 'expiredUnknown', { count });

  const everybody = users.length + values.length === 0;
  const owners = [...users, ...secrets.map((secret) => secret.user)];
  const others = everybody || owners.some((name) => name !== caller.user.name);
  if (others && caller.user.role !== 'superuser') return refuse(world, 'expiredDenied');

  const isMeant = (token: Token) =>
    everybody || users.includes(token.user) || (token.secret !== null && values.includes(token.secret));
  for (const token of world.state.tokens.values()) {
    if (isMeant(token) && token.expiresAt <= nowSeconds(world)) world.state.tokens.delete(token.value);
  }
  world.changed();
  return succeed(world, 'expiredDropped');
}
