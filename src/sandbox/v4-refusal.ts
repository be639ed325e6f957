import { json, type Reply } from './call.js';
import type { Login } from './login.js';
import type { User } from './state.js';
import { type AssumedText, fill, REST_4 } from './texts.js';

export function refusal4(
  given: AssumedText,
  values: Record<string, string | number> = {},
  status = given.status,
): Reply {
  return json(status, { error: true, message: fill(given.message, values) });
}

export function notLoggedIn(refused: Exclude<Login, { user: User }>): Reply {
  if (refused.refused === 'throttled') return refusal4(REST_4.tooManyLogins, { seconds: refused.seconds });
  return refusal4(REST_4.badLogin);
}
