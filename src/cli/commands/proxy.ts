import { proxyEnvironment } from '../../app/serve/environment.js';
import { openProxy } from '../../app/serve/proxy.js';
import { usageError } from '../../core/errors.js';
import { readChecked, removeQuietly, replaceFile } from '../../files/private-files.js';
import type { Run } from '../../run/run.js';
import { portOption, runToEnd } from '../child.js';
import type { Invocation } from '../command.js';
import { fileOption } from '../print-token.js';
import { openRun } from '../session.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { args, ctx, flags, report } = invocation;
  if (args.length > 0)
    return runToEnd(invocation, args, async (run) => {
      const proxy = await startProxy(invocation, run);
      return { env: proxyEnvironment(run, proxy), finish: proxy.close };
    });
  const keyIsPrinted = flags['key-file'] === undefined;
  // A key that reaches nobody opens nothing.
  if (keyIsPrinted) ctx.stdout.mustArrive();
  const { restUrl, gsqlUrl, key, close } = await startProxy(invocation, await openRun(invocation));
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

async function startProxy(invocation: Invocation, run: Run) {
  const { args, ctx, flags, report } = invocation;
  const keyFile = flags['key-file'] === undefined ? undefined : fileOption(invocation, 'key-file');
  const there = keyFile === undefined ? undefined : readChecked(keyFile);
  // A proxy that was killed has left its key. Unlike what `secret create > FILE` writes, it has no line end.
  if (there && !('text' in there && /^(?:[a-z0-9]{32})?$/.test(there.text)))
    throw usageError(
      `--key-file does not replace this file: ${keyFile}`,
      'name a new file; it is deleted when the proxy ends',
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
