import { type Recording, type realWait, record } from '../../scripts/conformance/run.js';
import type { Target } from '../../scripts/conformance/target.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';

export const VERSIONS = ['3.2.0', '3.9.3', '3.10.1', '4.1.2', '4.2.0'] as const;

/** A superuser whose password is a known value, so that the tests can search for it. */
export const ACCOUNT = { user: 'ada', password: 'pw-canary-71c4e0f2', graph: 'demo' } as const;

/** Starts a sandbox in place of the real server while `work` runs. */
export async function withServer<T>(
  options: SandboxOptions & { serverVersion: string },
  work: (target: Target, sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const restPort = options.serverVersion.startsWith('4') ? {} : { restPort: 0 };
  const { user: name, password } = ACCOUNT;
  const sandbox = await startSandbox({
    gsqlPort: 0,
    ...restPort,
    users: [{ name, password, role: 'superuser' }],
    ...options,
  });
  let ahead = 0;
  const { gsqlUrl, restUrl } = sandbox;
  const wait: typeof realWait = async (seconds) => {
    ahead += seconds;
    sandbox.addFault({ action: 'clock', seconds: ahead });
  };
  try {
    return await work({ gsqlUrl, restUrl, oldRestUrl: undefined, wait }, sandbox);
  } finally {
    await sandbox.close();
  }
}

export function recordFrom(options: SandboxOptions & { serverVersion: string }): Promise<Recording> {
  return withServer(options, async (target) => {
    const account = options.users ? { ...ACCOUNT, user: 'tigergraph', password: 'tigergraph' } : ACCOUNT;
    const { left, ...recording } = await record(target, {
      version: options.serverVersion,
      account,
      fillBlockList: true,
    });
    if (left.length > 0) throw new Error(`The run left ${left.join(', ')}.`);
    return recording;
  });
}
