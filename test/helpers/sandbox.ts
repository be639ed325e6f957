import { onTestFinished } from 'vitest';
import type { RequestLogEntry } from '../../src/sandbox/request-log.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';

/** Starts a sandbox on free ports for the test that runs. */
export async function testSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  // On 4.x a REST port is opened only on request.
  const restPort = options.serverVersion?.startsWith('4') ? {} : { restPort: 0 };
  const started = await startSandbox({ gsqlPort: 0, ...restPort, ...options });
  onTestFinished(() => started.close());
  return started;
}

/** The value of the secret `ci`, which exists in the database of `social`. */
export const SECRET = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';

/** The options of a database with the graph `social` and one secret, as the pages for CI systems assume it. */
export const SOCIAL: SandboxOptions = {
  graphs: ['social'],
  secrets: [{ alias: 'ci', value: SECRET, user: 'tigergraph', graph: 'social' }],
};

/** Starts such a database. */
export const social = (serverVersion: string, options: SandboxOptions = {}) =>
  testSandbox({ serverVersion, ...SOCIAL, ...options });

/** Returns the HTTP status with which the REST server answers a request with this token. */
export async function statusFor({ restUrl }: Pick<Sandbox, 'restUrl'>, token: string): Promise<number> {
  return (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } })).status;
}

/** Returns the requests that a sandbox does not imitate, as `METHOD /path`. */
export const unknownRoutes = ({ requests }: Pick<Sandbox, 'requests'>) =>
  requests
    .filter(({ status, faults }) => status === 501 && faults.length === 0)
    .map(({ method, path }) => `${method} ${path}`);

/** Whether a request asks for a new token. */
export const isMint = ({ method, path }: RequestLogEntry) =>
  /^(GET|POST) .*\/(requesttoken|tokens)$/.test(`${method} ${path}`);

/** Returns how many new tokens a sandbox was asked for. */
export const mintsOf = ({ requests }: Pick<Sandbox, 'requests'>) => requests.filter(isMint).length;
