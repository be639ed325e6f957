import type { SecureContext } from 'node:tls';
import type { TlsOptions } from './types.js';

export const UNKNOWN_AUTHORITY = /SELF_SIGNED|^UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)/;

/**
 * What trusts the system's authorities too, for settings with which a certificate was not trusted. That for a proxy is
 * without the client's certificate, which is for the server alone.
 */
export const TRUSTING = new WeakMap<TlsOptions, Readonly<Record<'server' | 'proxy', SecureContext>>>();

const { getBuiltinModule } = process;

/**
 * Connects and sends. When the authority of a certificate is unknown and none was named, it does so once more with the
 * system's authorities beside Node's; reading them takes time. Nothing is sent before a certificate is trusted.
 */
export async function trustingSystem<T>(tls: TlsOptions, ask: () => Promise<T>): Promise<T> {
  const isRepeated = TRUSTING.has(tls);
  try {
    return await ask();
  } catch (error) {
    // That of a proxy's tunnel has the code as its message.
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    const read = rootReader();
    if (isRepeated || tls.ca !== undefined || !read || !UNKNOWN_AUTHORITY.test(code ?? message)) throw error;
    const { createSecureContext } = getBuiltinModule('node:tls');
    const ca = [...read(), ...read('system')];
    const proxy = createSecureContext({ ca });
    const { cert, key } = tls;
    TRUSTING.set(tls, { proxy, server: cert ? createSecureContext({ ca, cert, key }) : proxy });
    return ask();
  }
}

/** Returns what reads the authorities that Node trusts, or the system's; Node 20 has no such function. */
export function rootReader(): ((type?: 'system') => string[]) | undefined {
  return (getBuiltinModule('node:tls') as { getCACertificates?(type?: 'system'): string[] })
    .getCACertificates;
}

/** Returns the code of a failure; for EPROTO, which is any failure of TLS, the one that OpenSSL's words stand for. */
export function codeOf({ code = 'no answer', message }: NodeJS.ErrnoException): string {
  const [, words] = (code === 'EPROTO' && /:SSL routines:[^:]*:([^:]+):/.exec(message)) || [];
  return words === undefined ? code : `ERR_SSL_${words.toUpperCase().replace(/\W/g, '_')}`;
}
