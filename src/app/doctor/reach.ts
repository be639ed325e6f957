import { setTimeout } from 'node:timers/promises';
import { portOf } from '../../core/endpoints.js';
import { type Check, fail, ok } from './check.js';

const FIX_RESOLVER = 'check the network and the name servers of this machine';

/** Checks whether a host name can be resolved to an address. */
export async function resolveName(host: string, timeoutMs: number): Promise<Check> {
  const cause = `the name ${host} was not found within ${timeoutMs / 1000} s`;
  // The look-up itself keeps the process alive.
  const late = setTimeout(timeoutMs, fail('TIMEOUT', cause, FIX_RESOLVER), { ref: false });
  return Promise.race([lookUp(host), late]);
}

async function lookUp(host: string): Promise<Check> {
  try {
    const { address } = await process.getBuiltinModule('node:dns').promises.lookup(host);
    return ok(address === host ? `${host} is an address` : `${host} is ${address}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND')
      return fail(
        'NETWORK',
        `there is no host ${host}`,
        'check the name: --host, GRAPHCRED_HOST, or the profile',
      );
    // Any other error is a problem of this machine, not of the name.
    return fail('NETWORK', `the name ${host} cannot be looked up (${code})`, FIX_RESOLVER);
  }
}

/** Checks whether anything listens at a port. Sends no data. */
export function probePort(base: string, timeoutMs: number): Promise<Check> {
  const url = new URL(base);
  const port = Number(portOf(url));
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const { connect } = process.getBuiltinModule('node:net');
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (check: Check) => {
      socket.destroy();
      resolve(check);
    };
    const fix = 'check the port and the firewall, and that the server is running';
    socket.once('connect', () => end(ok(`port ${port} is open`)));
    socket.once('timeout', () => end(fail('TIMEOUT', `port ${port} of ${host} does not answer`, fix)));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      const how = code === 'ECONNREFUSED' ? 'refuses connections' : `cannot be reached (${code})`;
      end(fail('NETWORK', `port ${port} of ${host} ${how}`, fix));
    });
  });
}
