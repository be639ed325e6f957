import { type GraphException, usageError } from './errors.js';
import type { RawOptions } from './options.js';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Headers that the connection sets itself, or that could redirect the request. */
const OWN_HEADERS =
  /^(?:authorization|connection|content-length|cookie|host|proxy-authorization|te|trailer|transfer-encoding|upgrade)$/;
const NOT_HERE = 'if you want to do this, use the tools of the database as an administrator';

/** Turns what a user wrote into a request to `base`. Throws USAGE for what must not be sent. */
export function checkRawCall(base: string, method: string, path: string, { body, headers = {} }: RawOptions) {
  const verb = method.toUpperCase();
  if (!METHODS.has(verb))
    throw usageError('This HTTP method is not supported.', `choose one of: ${[...METHODS].join(', ')}`);
  const target = resolveInside(base, path);
  refuseDangerous(verb, target);
  const checked = Object.fromEntries(Object.entries(headers).map(checkHeader));
  return { method: verb, path: target.href.slice(base.length), headers: checked, body };
}

function checkHeader([name, value]: [string, string]): [string, string] {
  const key = name.toLowerCase();
  const isName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(key);
  if (!isName || !/^[\t\x20-\x7e]*$/.test(value))
    throw usageError(
      `${isName ? `The header ${key}` : 'The name of a header'} has a character that is not allowed.`,
      'use ASCII letters, digits and punctuation',
    );
  if (OWN_HEADERS.test(key))
    throw usageError(`The header ${key} is set by graphcred itself.`, 'leave it out');
  return [key, value];
}

/** Returns the URL of a path below `base`. Throws USAGE for one that a server could read as leading elsewhere. */
export function resolveInside(base: string, path: string): URL {
  // The URL class drops line breaks and tabs and reads \ as /; the server may not.
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(path)) throw leadsElsewhere(path);
  // A # would cut the path off.
  if (/[^\x21-\x7e]|#/.test(path))
    throw usageError(
      'The path must not contain blanks, # or letters outside ASCII.',
      'percent-encode them: %20 for a blank, %23 for #',
    );
  const target = new URL(base + path);
  // The URL class has removed such segments, also where a server that decodes, or drops what follows a ;, finds one.
  const [written = ''] = path.split('?', 1);
  const isDotted = /(?:^|[/\\])\.\.?(?:[/\\;]|$)/.test(decodeFully(written));
  if (isDotted || !target.href.startsWith(`${base}/`)) throw leadsElsewhere(path);
  return target;
}

function leadsElsewhere(path: string): GraphException {
  return usageError(
    'The path must begin with one /, and have no .. and no \\ in it.',
    /^[a-z]:\//i.test(path)
      ? 'Git Bash turns such a path into a file name: type MSYS_NO_PATHCONV=1 before the command'
      : 'give /graph/demo/vertices/Person?limit=2, for example; the address of the server comes from the settings',
  );
}

/** @throws GraphException USAGE for a request that destroys the database or makes revoked tokens valid again */
export function refuseDangerous(method: string, target: URL): void {
  const path = decodeFully(target.pathname).toLowerCase();
  if (path.includes('drop-all'))
    throw usageError('This call wipes the whole database, so graphcred does not send it.', NOT_HERE);
  const query = decodeFully(target.search.replaceAll('+', ' ')).toLowerCase();
  if (method === 'DELETE' && /\/tokens\b/.test(path) && /[?&;\s]clear\b/.test(path + query))
    throw usageError(
      'This call would make revoked tokens valid again, so graphcred does not send it.',
      NOT_HERE,
    );
}

/** Decodes until nothing changes, since each of several servers in a chain decodes once. */
function decodeFully(text: string): string {
  let before: string;
  do {
    before = text;
    // A chain of encoded % signs is taken at once, or each round would make a long path only a little shorter.
    text = before.replace(/%(?:25)+/g, '%').replace(/%[0-7][0-9a-f]/gi, (code) => decodeURIComponent(code));
  } while (text !== before);
  return text;
}
