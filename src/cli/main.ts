import { refuseCredentials } from './args/options.js';
import { parseTokenGet } from './args/parse-token-get.js';
import { COMPLETE, type Context } from './context.js';
import { createReport, fail } from './output/report.js';
import { createInterruption } from './output/signals.js';

/** Runs one command line and returns the exit status. It reaches the outside world only through `ctx`. */
export async function main(ctx: Context, report = createReport(ctx)): Promise<number> {
  try {
    const [first = '', ...more] = ctx.argv;
    // The version is printed without loading the parser. With a command `-v` is --verbose.
    if (more.length === 0 && /^(--version|-V|-v|version)$/.test(first)) {
      ctx.stdout.write(`${ctx.version}\n`);
      return 0;
    }
    const argv = [first, more[0]].some((word) => word?.startsWith('-'))
      ? (await import('./args/catalogue.js')).commandFirst(ctx.argv)
      : ctx.argv;
    if (first === COMPLETE) {
      await (await import('./args/complete.js')).complete(ctx, more);
      return 0;
    }
    refuseCredentials(argv);
    const chosen =
      parseTokenGet(argv) ?? (await (await import('./args/parse.js')).parseCommandLine(ctx, argv));
    if (chosen === undefined) return 0;
    const { flags } = chosen;
    Object.assign(report, { typed: flags, quiet: flags.quiet === true, verbose: flags.verbose === true });
    const interruption = createInterruption(report.error);
    const start = async () => {
      const execute = await chosen.spec.load();
      return (await execute({ ctx, report, interruption, ...chosen })) ?? 0;
    };
    // After Ctrl-C a command that changes something reports how far it came.
    return await (chosen.spec.writes ? interruption.during(start) : start());
  } catch (error) {
    return fail(error, report);
  }
}
