import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { usageError } from '../../core/errors.js';
import { optionsOf } from '../../sandbox/args.js';
import { type Sandbox, startSandbox } from '../../sandbox/server.js';
import { portOption, runChild } from '../child.js';
import type { Invocation } from '../command.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { ctx, args, report } = invocation;
  const child = args.length > 0;
  const sandbox = await startServers(invocation, child);
  try {
    if (child) {
      if (ctx.stdin.isTTY && args.length === 1 && /(^|\/)\w*sh$/.test(`${args[0]}`))
        report.note(`this is ${args[0]} with a practice database; to leave it: exit`);
      return await runBeside(sandbox, invocation);
    }
    // The listener is added before the line is printed, because a program that reads it may stop the sandbox at once.
    const stopped = ctx.stopped();
    report.result(sandbox.readyLine());
    if (ctx.stdout.isTTY) {
      const { restUrl, gsqlUrl, graph, username, password } = sandbox;
      report.note(`ready; the password of ${username} is ${password}, and Ctrl-C stops the sandbox`);
      const target = `--rest-url ${restUrl} --gsql-url ${gsqlUrl} --graph ${graph} -u ${username}`;
      report.note(['in another terminal type', { command: `secret create try ${target}` }]);
    }
    await stopped;
    return 0;
  } finally {
    await sandbox.close();
  }
}

/** Starts the sandbox that the flags describe. @throws GraphException USAGE with the sandbox's own message */
async function startServers({ ctx, flags, report }: Invocation, anyPort: boolean): Promise<Sandbox> {
  const log = report.verbose && { log: (line: string) => ctx.stderr.write(`${line}\n`) };
  try {
    const ports = ['rest-port', 'gsql-port'].map((name) => portOption(flags, name));
    return await startSandbox({ ...optionsOf(flags, ports, anyPort), warn: report.warn, ...log });
  } catch (error) {
    throw usageError((error as Error).message, 'see: graphcred sandbox --help');
  }
}

async function runBeside(sandbox: Sandbox, invocation: Invocation): Promise<number> {
  const { args, ctx } = invocation;
  const state = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-sandbox-'));
  // The umask may have taken what this user needs.
  fs.chmodSync(state, 0o700);
  const env = {
    // The caller's own settings and credentials would hide the sandbox, or reach the command's log.
    ...Object.fromEntries(Object.entries(ctx.env).filter(([name]) => !/^(?:GRAPHCRED|TG)_/i.test(name))),
    // What belongs to the practice server goes with it, and stays out of the user's own store.
    XDG_STATE_HOME: state,
    XDG_CONFIG_HOME: state,
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_REST_URL: sandbox.restUrl,
    GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
    GRAPHCRED_GRAPH: sandbox.graph,
    GRAPHCRED_USERNAME: sandbox.username,
    GRAPHCRED_PASSWORD: sandbox.password,
  };
  try {
    return await runChild(invocation, args, env);
  } finally {
    fs.rmSync(state, { recursive: true, force: true });
  }
}
