import path from 'node:path';
import { type LocalProxy, openProxy } from '../../app/proxy.js';
import type { Flags } from '../../config/keys.js';
import { usageError } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { readChecked, removeQuietly, replaceFile } from '../../files/private-files.js';
import { childEnvironment, failedBefore, inheritedDescriptors, runToEnd, takeStdin } from '../child.js';
import type { Invocation, Session } from '../command.js';
import { openSession } from '../session.js';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags, ctx, report } = invocation;
  const inherited = inheritedDescriptors();
  const keyFile =
    flags['key-file'] === undefined ? undefined : path.resolve(ctx.cwd, String(flags['key-file']));
  let session: Session;
  let proxy: LocalProxy;
  try {
    session = await takeStdin(await openSession(invocation));
    proxy = await openProxy(session, {
      rest: portOption(flags, 'port'),
      service: portOption(flags, 'service-port'),
    });
    if (keyFile) await writeKey(keyFile, proxy);
  } catch (error) {
    if (args.length === 0) throw error;
    return failedBefore(report, error);
  }
  const { restUrl, gsqlUrl, key } = proxy;
  if (ctx.stderr.isTTY)
    report.note(`ready at ${restUrl}${args.length > 0 ? '' : '; Ctrl-C stops the proxy'}`);
  const close = async () => {
    await proxy.close();
    if (keyFile) removeKey(keyFile, key);
    return undefined;
  };
  if (args.length > 0)
    return runToEnd(invocation, args, { env: environment(session, proxy), inherited, finish: close });
  // The listener is added before the line is printed, because a program that reads it may stop the proxy at once.
  const stopped = ctx.stopped();
  report.result(JSON.stringify({ schemaVersion: 1, restUrl, gsqlUrl, ...(keyFile ? {} : { key }) }));
  await stopped;
  await close();
  return 0;
}

function portOption(flags: Flags, name: string): number {
  const text = flags[name] as string | undefined;
  if (text === undefined) return 0;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw usageError(`--${name} is not a port number.`, 'write one from 1 to 65535');
}

async function writeKey(file: string, proxy: LocalProxy): Promise<void> {
  try {
    replaceFile(file, `${proxy.key}\n`);
  } catch (error) {
    // An open door would keep this process running.
    await proxy.close();
    throw error;
  }
}

/** Another proxy that was started with the same file may have put its own key there. */
function removeKey(file: string, key: string): void {
  const found = readChecked(file);
  if (found && 'text' in found && found.text === `${key}\n`) removeQuietly(file);
}

/** Returns the environment of the command: the door in place of the servers, and the key in place of credentials. */
function environment(session: Session, { restUrl, gsqlUrl, key, username }: LocalProxy) {
  const { NO_PROXY, no_proxy } = session.ctx.env;
  return {
    ...childEnvironment(session, { token: new Sensitive(key), servers: { restUrl, gsqlUrl } }),
    TG_USERNAME: username,
    TG_PASSWORD: username && key,
    // Programs that read both names prefer one of them, so neither may hide what is set under the other.
    NO_PROXY: withLoopback(NO_PROXY ?? no_proxy),
    no_proxy: withLoopback(no_proxy ?? NO_PROXY),
  };
}

/** Adds the loopback, which an HTTP proxy cannot reach, to the hosts that are asked without one. */
function withLoopback(hosts: string | undefined): string {
  // Many programs understand * only when it stands alone.
  if (hosts === '*') return hosts;
  return hosts ? `${hosts},127.0.0.1` : '127.0.0.1';
}
