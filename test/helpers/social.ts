import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';

/** The value of the secret `ci`, which exists in the database of `startSocial`. */
export const SECRET = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';

/** Returns the options of a database with the graph `social` and one secret, as the pages for CI systems assume it. */
export function socialDatabase(serverVersion: string): SandboxOptions {
  return {
    serverVersion,
    gsqlPort: 0,
    ...(serverVersion.startsWith('3') && { restPort: 0 }),
    graphs: ['social'],
    secrets: [{ alias: 'ci', value: SECRET, user: 'tigergraph', graph: 'social' }],
  };
}

/** Starts such a database for the test that runs. */
export async function startSocial(serverVersion: string, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ ...socialDatabase(serverVersion), ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Returns the HTTP status with which the REST server answers a request with this token. */
export async function statusFor({ restUrl }: Sandbox, token: string): Promise<number> {
  return (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } })).status;
}
