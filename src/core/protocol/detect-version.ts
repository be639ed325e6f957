import { GraphException, usageError } from '../errors.js';
import { isHtml } from '../http/errors.js';
import type { HttpReply, HttpRequest, Send } from '../http/types.js';
import type { ConnectionOptions } from '../options.js';
import { redactServerText } from '../redact.js';
import { FORM, readEnvelope } from './reply.js';
import { GIVE_VERSION, parseVersionOption, type ServerVersion, versionOf } from './version.js';

/** Asks the GSQL server without a credential. Throws UNSUPPORTED when no answer names a version. */
async function detectVersion(base: string, ask: Send): Promise<ServerVersion> {
  // Only 4.x has this path.
  const newer = await ask({ server: 'service', base, method: 'GET', path: '/gsql/v1/version' });
  const found = versionIn(newer, '4');
  if (found) return found;
  const older = await ask({
    server: 'service',
    base,
    method: 'POST',
    path: '/gsqlserver/gsql/version',
    operation: 'find-version',
    headers: FORM,
    body: 'v',
  });
  const foundOlder = versionIn(older, '3');
  if (foundOlder) return foundOlder;
  if (isOfRestServer(newer))
    throw new GraphException('UNSUPPORTED', `${base} is a REST server, and not the GSQL server.`, {
      hint: 'give the address of the GSQL server, usually port 14240; if both are set, swap them',
    });
  const answers = [...new Set([newer, older].map(({ status }) => `HTTP ${status}`))].join(', then ');
  throw new GraphException('UNSUPPORTED', `${base} does not tell its version (${answers}).`, {
    hint: ['check the address first', ...GIVE_VERSION],
    status: older.status,
    serverText: isHtml(older) ? '' : redactServerText(older.body),
  });
}

/**
 * Reads the version from an answer. Some servers of 4.x require a login for it, and no others have its path.
 * A web page is the answer of something in front of the server, which protects every path.
 */
function versionIn(reply: HttpReply, ofPath: '3' | '4'): ServerVersion | undefined {
  const { status, body } = reply;
  if (status === 401 || status === 403)
    return ofPath === '3' || isHtml(reply) || isOfRestServer(reply) ? undefined : versionOf('4');
  const told = /^\s*GSQL version\b(?:(?::\s*|\s+)v?(\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)\b)?/im.exec(body);
  // Builds between releases have a name in place of a number.
  return status === 200 && told ? versionOf(told[1] ?? ofPath) : undefined;
}

function isOfRestServer({ body }: HttpReply): boolean {
  return /"code"\s*:\s*"REST-\d+"/.test(body);
}

/** Finds the server's version: the given one, the remembered one, or what the server reports when it is asked, once. */
export class VersionFinder {
  readonly #serviceUrl: string;
  readonly #onVersion: ConnectionOptions['onVersion'];
  readonly #given: ServerVersion | undefined;
  /** The remembered version, until an answer does not fit it. */
  #known: string | undefined;
  #asked: Promise<ServerVersion> | undefined;

  constructor(serviceUrl: string, { serverVersion, knownVersion, onVersion }: ConnectionOptions) {
    this.#serviceUrl = serviceUrl;
    this.#onVersion = onVersion;
    this.#given = parseVersionOption(serverVersion);
    this.#known = knownVersion;
  }

  async find(send: Send): Promise<ServerVersion> {
    const known = this.#given ?? parseVersionOption(this.#known);
    // A server that was upgraded since would get a token or a secret in the URL.
    if (known && (this.#given || known.generation !== '3.0')) return known;
    this.#asked ??= this.#ask(send).catch((error) => {
      // The next call asks again.
      this.#asked = undefined;
      throw error;
    });
    return this.#asked;
  }

  /** Throws USAGE when the version was given, and the server is of another generation. */
  async confirm({ generation, version }: ServerVersion, send: Send): Promise<void> {
    if (this.#given === undefined) return;
    const found = await this.#ask(send).catch((error) =>
      error.code === 'UNSUPPORTED' ? undefined : Promise.reject(error),
    );
    if (found?.generation === generation) return;
    const answer = found ? `is ${found.version}` : 'does not tell its version';
    const message = `Nothing was sent: the version is set to ${version}, but ${this.#serviceUrl} ${answer}.`;
    throw usageError(message, [
      'a server before 3.5 gets tokens and secrets in the URL, so it must report such a version itself; check the address, and leave the version out',
      { setting: 'serverVersion' },
    ]);
  }

  async #ask(send: Send): Promise<ServerVersion> {
    const version = await detectVersion(this.#serviceUrl, send);
    this.#onVersion?.(version);
    return version;
  }

  /** Forgets a remembered version that an answer does not fit: the next call asks the server. */
  doubt(): void {
    if (this.#given || this.#known === undefined) return;
    this.#known = undefined;
    this.#onVersion?.(undefined);
  }
}

/** Whether an answer can come from a server of this version. A server of another version does not have this path. */
export function fitsVersion({ operation }: HttpRequest, reply: HttpReply): boolean {
  if (operation === undefined || reply.status >= 500) return true;
  if (reply.status === 405) return false;
  return readEnvelope(reply) !== undefined || !(reply.status === 404 || isHtml(reply));
}
