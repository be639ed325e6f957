import { GraphException, usageError } from '../errors.js';
import { isHtml } from '../http/errors.js';
import type { HttpReply, HttpRequest, Send } from '../http/types.js';
import { redactServerText } from '../redact.js';
import { readEnvelope } from './reply.js';
import {
  GIVE_VERSION_HINT,
  generationOf,
  OPTION,
  parseVersionOption,
  type ServerVersion,
  serverVersion,
} from './version.js';

/**
 * Asks the GSQL server for its version without a credential: first at the path of 4.x, then at that of 3.x.
 * Throws UNSUPPORTED when neither answer names a version; network errors are passed on.
 */
export async function detectVersion(serviceUrl: string, ask: Send): Promise<ServerVersion> {
  const send: Send = (request) => ask(request).catch(rethrowWithVersionHint);
  const there = { server: 'service', base: serviceUrl } as const;
  const newer = await send({ ...there, method: 'GET', path: '/gsql/v1/version' });
  // Only 4.x has this path, and some 4.x servers require a login for it.
  if (wantsLogin(newer)) return serverVersion('4', '4');
  if (newer.status === 200) {
    const version = versionIn(newer.body);
    if (version !== undefined) return generationOf(version);
    // Builds between releases have a name instead of a number, but 3.x has no such path at all.
    if (/^\s*GSQL version\b/im.test(newer.body)) return serverVersion('4', '4');
  }
  const older = await send({
    ...there,
    method: 'POST',
    path: '/gsqlserver/gsql/version',
    contentType: 'application/x-www-form-urlencoded',
    body: 'v',
    readOnly: true,
  });
  if (wantsLogin(older)) return serverVersion('3.5', '3');
  if (older.status === 200) {
    const version = versionIn(older.body);
    if (version !== undefined) return generationOf(version);
  }
  throw new GraphException(
    'UNSUPPORTED',
    `${serviceUrl} does not tell its version (HTTP ${newer.status}, then HTTP ${older.status}).`,
    {
      hint: GIVE_VERSION_HINT,
      option: OPTION,
      status: older.status,
      serverText: isHtml(older) ? '' : redactServerText(older.body),
    },
  );
}

function wantsLogin({ status }: HttpReply): boolean {
  return status === 401 || status === 403;
}

/** Adds the hint to set the version, except when the server cannot be reached: then the version does not help. */
function rethrowWithVersionHint(error: unknown): never {
  if (!(error instanceof GraphException)) throw error;
  if (['CANCELLED', 'TLS', 'NETWORK'].includes(error.code)) throw error;
  const { code, message, hint = '', remedies } = error;
  throw new GraphException(code, message, {
    ...error,
    hint: `${hint} If you know its version, give it.`.trim(),
    remedies: [...remedies, 'give-version'],
  });
}

function versionIn(text: string): string | undefined {
  return /^\s*GSQL version(?::\s*|\s+)v?(\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)\b/im.exec(text)?.[1];
}

export interface VersionOptions {
  readonly serviceUrl: string;
  /** `auto`, or the version that the user gives. */
  readonly serverVersion: string;
  /** The version that was detected earlier, if any. */
  readonly knownVersion: string | undefined;
  /** Called with every version that a server reports. */
  readonly onVersion: ((version: ServerVersion) => void) | undefined;
}

/**
 * Finds the server's version: the given one, the remembered one, or what the server reports. The server is asked once,
 * without a credential.
 */
export class VersionFinder {
  readonly #options: VersionOptions;
  #version: Promise<ServerVersion> | undefined;
  /** The `send` of the call in which the version was asked for. */
  #askedIn: Send | undefined;

  constructor(options: VersionOptions) {
    this.#options = options;
  }

  /**
   * Returns the version; asks the server unless an earlier call has found it.
   * @param send sends all requests of one call
   */
  async find(send: Send): Promise<ServerVersion> {
    const asked = this.#version;
    // The time limit of another call may end sooner than that of this one, which then asks by itself.
    if (asked)
      return asked.catch((error) => (error.code === 'TIMEOUT' ? this.find(send) : Promise.reject(error)));
    const { serverVersion, knownVersion = 'auto' } = this.#options;
    const known = parseVersionOption(serverVersion) ?? parseVersionOption(knownVersion);
    const found = known ? Promise.resolve(known) : this.#ask(send);
    this.#version = found;
    found.catch(() => {
      if (this.#version === found) this.#version = undefined;
    });
    return found;
  }

  /** Asks for the version when it was given. Throws USAGE unless the server is of that generation. */
  async confirm({ generation, version }: ServerVersion, send: Send): Promise<void> {
    if (parseVersionOption(this.#options.serverVersion) === undefined) return;
    const found = await this.#ask(send).catch((error) =>
      error.code === 'UNSUPPORTED' ? undefined : Promise.reject(error),
    );
    if (found?.generation === generation) return;
    const told = found ? `is ${found.version}` : 'does not tell its version';
    throw usageError(
      `The server ${told}, and was given as ${version}: nothing was sent.`,
      'Such a server takes the token in the URL, so it must say itself that it is one. Give the right version, or none.',
      { option: OPTION },
    );
  }

  async #ask(send: Send): Promise<ServerVersion> {
    this.#askedIn = send;
    const version = await detectVersion(this.#options.serviceUrl, send);
    this.#options.onVersion?.(version);
    return version;
  }

  /**
   * Asks for the version again, unless it was given or this call has asked already. Returns undefined when nothing new
   * was learned.
   */
  async recheck(send: Send): Promise<ServerVersion | undefined> {
    if (this.#options.serverVersion !== 'auto' || this.#askedIn === send) return undefined;
    try {
      const version = await this.#ask(send);
      this.#version = Promise.resolve(version);
      return version;
    } catch (error) {
      if (error instanceof GraphException) return undefined;
      throw error;
    }
  }
}

/** Whether an answer can come from a server of this version. A server of another version does not have this path. */
export function fitsVersion({ operation }: HttpRequest, reply: HttpReply): boolean {
  if (operation === undefined || reply.status >= 500) return true;
  if (reply.status === 405) return false;
  return readEnvelope(reply) !== undefined || !(reply.status === 404 || isHtml(reply));
}
