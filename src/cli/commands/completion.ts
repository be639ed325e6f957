import type { Invocation } from '../command.js';

/** The scripts of `cli/completion/` by shell. They ask graphcred itself for the candidates, so they never go out of date. */
declare const __COMPLETION__: Readonly<Record<string, string>>;

export async function execute({ args: [shell = ''], ctx }: Invocation): Promise<undefined> {
  ctx.stdout.write(__COMPLETION__[shell] ?? '');
}
