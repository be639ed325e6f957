import { type LocalProxy, openProxy } from '../../app/serve/proxy.js';
import { ADDRESS_KEYS, SETTINGS } from '../../config/keys.js';
import { usageError } from '../../core/errors.js';
import { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { readChecked, removeQuietly, replaceFile } from '../../files/private-files.js';
import type { Run } from '../../run/run.js';
import { childEnvironment, portOption, runToEnd } from '../child.js';
import type { Invocation } from '../command.js';
import { fileOption } from '../print-token.js';
import { openRun } from '../session.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { args, ctx, flags, report } = invocation;
  if (args.length > 0)
    return runToEnd(invocation, args, async (run) => {
      const proxy = await start(invocation, run);
      return { env: environment(run, proxy), finish: proxy.close };
    });
  const keyIsPrinted = flags['key-file'] === undefined;
  // A key that reaches nobody opens nothing.
  if (keyIsPrinted) ctx.stdout.mustArrive();
  const { restUrl, gsqlUrl, key, close } = await start(invocation, await openRun(invocation));
  // The listener is added before the line is printed, because a program that reads it may stop the proxy at once.
  const stopped = ctx.stopped();
  try {
    report.result(JSON.stringify({ schemaVersion: 1, restUrl, gsqlUrl, ...(keyIsPrinted && { key }) }));
    await stopped;
    return 0;
  } finally {
    await close();
  }
}

async function start(invocation: Invocation, run: Run) {
  const { args, ctx, flags, report } = invocation;
  const keyFile = flags['key-file'] === undefined ? undefined : fileOption(invocation, 'key-file');
  const there = keyFile === undefined ? undefined : readChecked(keyFile);
  // A proxy that was killed has left its key. Unlike what `secret create > FILE` writes, it has no line end.
  if (there && !('text' in there && /^(?:[a-z0-9]{32})?$/.test(there.text)))
    throw usageError(
      `--key-file would replace a file with another content: ${keyFile}`,
      'name a file that is not there; it is deleted when the proxy ends',
    );
  const [rest = 0, service = 0] = ['port', 'service-port'].map((name) => portOption(flags, name));
  const proxy = await openProxy(run, { rest, service });
  try {
    if (keyFile) replaceFile(keyFile, proxy.key);
  } catch (error) {
    // An open listener would keep this process running.
    await proxy.close();
    throw error;
  }
  if (ctx.stderr.isTTY)
    report.note(`ready at ${proxy.restUrl}${args.length > 0 ? '' : '; Ctrl-C stops the proxy'}`);
  const close = async () => {
    await proxy.close();
    const found = keyFile === undefined ? undefined : readChecked(keyFile);
    // Another proxy that was started with the same file may have put its own key there.
    if (keyFile && found && 'text' in found && found.text === proxy.key) removeQuietly(keyFile);
    return undefined;
  };
  return { ...proxy, close };
}

/** Returns the environment of the command: the proxy's addresses in place of those of the servers, and the key in place of credentials. */
function environment(run: Run, proxy: Omit<LocalProxy, 'close'>) {
  const { restUrl, gsqlUrl, key, username, serverVersion } = proxy;
  const { NO_PROXY, no_proxy } = run.ports.env;
  // An HTTP proxy cannot reach the loopback. Programs that read both names prefer one of them, so both get the same.
  const hosts = new Set([NO_PROXY, no_proxy, '127.0.0.1'].filter(Boolean));
  // Many programs understand * only when it stands alone.
  const noProxy = hosts.has('*') ? '*' : [...hosts].join();
  return {
    ...childEnvironment(run, new BoundCredential(new Sensitive(key), { restUrl, gsqlUrl })),
    // The version below counts for this pair alone.
    ...Object.fromEntries(ADDRESS_KEYS.map((name) => [SETTINGS[name].variable, undefined])),
    ...{ GRAPHCRED_GSQL_URL: gsqlUrl, GRAPHCRED_REST_URL: restUrl },
    // What is stored for an address that ends with the proxy would be sent to whoever listens there next.
    GRAPHCRED_STORE: 'none',
    // With these, ports that are the usual ones would count as not set.
    TG_TGCLOUD: undefined,
    TG_SSL_PORT: undefined,
    // The proxy answers nobody without the key, so its version cannot be asked for.
    GRAPHCRED_SERVER_VERSION: serverVersion,
    TG_USERNAME: username,
    TG_PASSWORD: username && key,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
  };
}
