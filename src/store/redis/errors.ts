import { GraphException } from '../../core/errors.js';
import type { RedisAddress } from '../store.js';
import { addressText } from './url.js';

/** Thrown when a reply does not fit what was asked. */
export class InvalidReply extends Error {}

const GIVE_RIGHTS = 'give the Redis user the rights that docs/fleet.md lists';
const NAME_MASTER =
  'set GRAPHCRED_REDIS_SENTINEL_MASTER if GRAPHCRED_REDIS_URL names Sentinels, and only then';
const SET_CA = 'set GRAPHCRED_REDIS_CA to the PEM file of the CA';
const SPEAK_TLS =
  'check that this port speaks TLS: rediss:// is for one that does, redis:// for one that does not';

type Problem = readonly [text: RegExp, name?: string | undefined, hint?: string | undefined];

/** What a certificate or TLS is refused for. */
const TLS_PROBLEMS: readonly Problem[] = [
  [/CERT_HAS_EXPIRED/, 'the certificate has expired', 'ask the administrator of the server to renew it'],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    'the certificate belongs to another host',
    'write the host in GRAPHCRED_REDIS_URL as the certificate names it',
  ],
  [/SELF_SIGNED|UNABLE_TO_\w+/, 'the certificate is self-signed or its CA is unknown', SET_CA],
  [/\w*CERT_\w*|\w*SIGNATURE\w*/, undefined, SET_CA],
  [/ERR_(SSL|TLS)_\w+|EPROTO/, undefined, SPEAK_TLS],
];

/** The words of Redis, of the system and of ioredis; without a name the word itself is shown. The first that fits counts. */
const PROBLEMS: readonly Problem[] = [
  ...TLS_PROBLEMS,
  [/ACL failure in script|The user executing the script can't/, 'NOPERM in a script', GIVE_RIGHTS],
  [/NOPERM/, undefined, GIVE_RIGHTS],
  [/WRONGPASS/, undefined, 'check GRAPHCRED_REDIS_USERNAME and GRAPHCRED_REDIS_PASSWORD_FILE'],
  [
    /NOAUTH/,
    undefined,
    'set GRAPHCRED_REDIS_PASSWORD_FILE, and GRAPHCRED_REDIS_USERNAME if the server has users',
  ],
  [/unknown command/, 'no such command', NAME_MASTER],
  [/OOM/, undefined, 'raise the maxmemory of the server: it has no memory left'],
  [/READONLY/, undefined, 'let GRAPHCRED_REDIS_URL name the master: this is a replica'],
  [/NOREPLICAS/, undefined, 'connect its replicas, or lower its min-replicas-to-write'],
  [/MOVED/, undefined, 'let GRAPHCRED_REDIS_URL name several nodes of the cluster'],
  [/cluster support disabled/, 'no cluster', 'let GRAPHCRED_REDIS_URL name one server, or its Sentinels'],
  [/ECONNREFUSED/, 'nothing listens there'],
  [/ENOENT/, 'there is no such socket'],
  [/ENOTFOUND/, 'the host name is unknown'],
  [/EAI_AGAIN/, 'the host name cannot be looked up'],
  [/EHOSTUNREACH/, 'there is no route to it'],
  [/EACCES/, 'permission denied'],
  [/ETIMEDOUT|timed out|timeout/, 'it does not answer'],
  [/ECONNRESET/, 'it closed the connection'],
  [/Protocol error/, 'it speaks another protocol'],
  [/entinels are unreachable/, 'no Sentinel names it', 'check GRAPHCRED_REDIS_SENTINEL_MASTER'],
  [/onnection (is )?close/, 'it closed the connection'],
];

const textOf = (error: Error) => `${(error as NodeJS.ErrnoException).code ?? ''} ${error.message}`;

/** Whether it is an answer of the server. */
export const isReply = (error: Error): error is Error & { readonly command: { readonly name: string } } =>
  error.name === 'ReplyError';

/** Whether the connection failed because of TLS or of a certificate. */
export const isAboutTls = (error: Error) =>
  !isReply(error) && TLS_PROBLEMS.some(([text]) => text.test(textOf(error)));

/**
 * Creates the error for the caller, without the server's own text: a hostile server may send anything, and may repeat
 * what it was sent.
 * @param causes the error of a command, and what the client met on its way to the server
 */
export function unavailable(
  causes: readonly [Error, ...Error[]],
  addresses: readonly RedisAddress[],
): GraphException {
  const [error] = causes;
  const text = isReply(error) ? error.message : causes.map(textOf).join('\n');
  const found = error instanceof InvalidReply ? undefined : PROBLEMS.find(([word]) => word.test(text));
  const [word = /^[A-Z]+\b/, name, hint] = found ?? [];
  const isTls = TLS_PROBLEMS.some((one) => one === found);
  const code = name ?? word.exec(text)?.[0] ?? 'an error';
  const server = addresses.map(addressText).join(', ');
  const problem =
    error instanceof InvalidReply
      ? `use the Redis server ${server}: ${error.message}`
      : isReply(error)
        ? `use the Redis server ${server}: it answered ${error.command.name.toUpperCase()} with ${code}`
        : `reach the Redis server ${server}: ${found ? code : (error as NodeJS.ErrnoException).code || 'no connection'}`;
  return new GraphException('STORE_UNAVAILABLE', `cannot ${problem}`, {
    ...(hint === undefined
      ? { hint: 'check GRAPHCRED_REDIS_URL and that the server is up', remedies: ['examine'] }
      : { hint }),
    ...(isReply(error) && { serverCode: code }),
    ...(isTls && { setting: 'redis.ca' }),
  });
}
