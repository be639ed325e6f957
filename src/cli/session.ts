import { refuseValue } from '../config/errors.js';
import { findOwnConfig, findTrustedConfig } from '../config/find.js';
import { type Flags, SETTINGS, type Settings, type SettingsInput, unknownVariables } from '../config/keys.js';
import { resolveSettings, settingText } from '../config/settings.js';
import { describeLeftOut } from '../config/target.js';
import { isSecureUrl } from '../core/endpoints.js';
import { GraphException, usageError } from '../core/errors.js';
import { isPrivatePlace, keepOthersOut } from '../files/access.js';
import { once } from '../run/once.js';
import { environmentWithoutCredentials, type Ports, Time } from '../run/ports.js';
import { completeRun, type LocalRun, type Run } from '../run/run.js';
import { findVersion, tellEmpty } from '../run/server.js';
import { Stores } from '../run/stores.js';
import { FORMATS } from './args/options.js';
import type { Invocation } from './command.js';
import { inCi, settingsInput } from './context.js';
import { prompterOf, whyNotAsked } from './output/prompt.js';

interface RunOptions {
  /** One that exists in the config file in force, `any` name, or one of the user's `own` config file, also a new one. */
  readonly profile?: 'existing' | 'any' | 'own';
  /** Flags that were not typed as such: an address that a person answers, or the name of the profile. */
  readonly moreFlags?: Flags;
  /** Whether the command does not cut its requests when its time is over, but ends between two steps, if at all. */
  readonly isStepwise?: boolean;
}

/** Reads and checks the settings. @throws GraphException USAGE, CONFIG_INVALID, CONFIG_UNTRUSTED, NOT_FOUND (profile) */
export async function openRun(invocation: Invocation, options: RunOptions = {}): Promise<Run> {
  const { flags, report, spec } = invocation;
  const allGraphs = flags['all-graphs'] === true;
  const secretsOf = flags.owner as string | undefined;
  const local = await openLocalRun(invocation, options);
  const run = completeRun(local, { secretsOf, ...(allGraphs && { graph: undefined }) });
  if (run.settings.insecure)
    report.warn(`server certificates are not verified (${run.settings.all['tls.insecure'][0]?.label})`);
  const { gsqlUrl, restUrl = gsqlUrl } = run.target;
  const plain = [gsqlUrl, restUrl].filter((url) => !isSecureUrl(url)).map((url) => new URL(url).origin);
  if (plain.length > 0)
    report.warn(
      `no encryption at ${[...new Set(plain)].join(' and ')}: credentials can be read on the way. Use https if the server offers it`,
    );
  tellEmpty(run);
  if (allGraphs) {
    if (flags.graph !== undefined)
      throw usageError('--graph and --all-graphs contradict each other.', 'leave one of them out');
    if ((await findVersion(run)).secretsNeedGraph)
      throw usageError(
        '--all-graphs is for 4.x; a 3.x server has no token for all graphs.',
        'name one graph: --graph NAME',
      );
  }
  const { stdin } = run.ports;
  // A command that is started must not find a credential there which a cached token makes superfluous.
  if (spec.passThrough && stdin.holds) await stdin.read({ maxBytes: 64 * 1024, timeoutMs: run.time.limitMs });
  return run;
}

export function noteLeftOut(settings: Settings, report: Invocation['report']): void {
  const { database } = settings;
  if (database instanceof GraphException) report.warn([database.message.replace(/\.$/, ''), ...database.fix]);
  for (const layer of settings.leftOut) report.note(describeLeftOut(layer, settings));
}

/** Reads only the settings, for commands that talk to no database. Throws like `openRun`. */
export async function openLocalRun(invocation: Invocation, options: RunOptions = {}): Promise<LocalRun> {
  const { ctx, flags, report } = invocation;
  const { profile = 'existing', moreFlags, isStepwise = false } = options;
  const holds = valueOnStdin(invocation);
  const input = settingsInput({ ctx, flags: { ...flags, ...moreFlags } });
  const { configDir, stateDir, foreign } = input;
  if (foreign) report.warn(`${foreign.path}, named by ${foreign.variable}, is not used: it ${foreign.why}`);
  const found = await (profile === 'own' ? findOwnConfig(input) : configInForce(invocation, input));
  const { file } = found;
  const settings = resolveSettings(input, file, profile === 'existing');
  report.settings = settings;
  report.format = outputOf(invocation, settings);
  if (settings.profile.source === '--profile')
    for (const { tgVariable = '' } of Object.values(SETTINGS))
      if (ctx.env[tgVariable]) report.detail(`${tgVariable} is ignored because --profile was given`);
  for (const name of unknownVariables(ctx.env))
    report.warn(`${name} is not a variable of graphcred; to see them all: graphcred help environment`);
  if (file?.showsCredential)
    report.warn(
      `${file.path} holds a credential and other users can read it; to stop that: ${keepOthersOut(file.path)}`,
    );
  for (const dir of [configDir, stateDir])
    if (dir !== undefined && !isPrivatePlace(dir))
      report.warn(`${dir} is outside your Windows user folder, so other users may read what is stored there`);
  const time = new Time(settings, !isStepwise);
  const run = { settings, ports: portsOf(invocation, settings, holds), time };
  const stores = new Stores(run, input);
  if ([configDir, stateDir].includes(undefined) && !foreign && stores.inForce.lacks)
    report.warn(
      'there is no home folder, so nothing is stored; set HOME to change that, or GRAPHCRED_STORE=none to accept it',
    );
  return { ...run, stores, search: input, untrusted: found.untrusted[0]?.why };
}

/** Returns the config file in force. It is looked for once, however often a command opens a run. */
const configInForce = once(async (invocation: Invocation, input: SettingsInput) => {
  const found = await findTrustedConfig(input);
  const [nearest] = found.untrusted;
  if (nearest && !invocation.spec.worksWithoutProjectFile) {
    const { askTrust } = await import('./trust-prompt.js');
    return { file: await askTrust(invocation, input, nearest), untrusted: [] };
  }
  for (const { why } of found.untrusted) invocation.report.note([why.message.replace(/\.$/, ''), ...why.fix]);
  return found;
});

/** @throws GraphException USAGE when two values should come from standard input */
function valueOnStdin({ flags }: Invocation): Ports['stdin']['holds'] {
  const kinds = (['password', 'secret', 'jwt', 'token'] as const).filter(
    (kind) => flags[`${kind}-stdin`] === true,
  );
  const body = flags.data === '-' || flags.data === '@-' ? [`-d ${flags.data}`] : [];
  const values = [...body, ...kinds.map((kind) => `--${kind}-stdin`)];
  const hint = `keep one of: ${values.join(', ')}`;
  if (values.length < 2) return kinds[0];
  throw usageError(`Only one value can come from stdin, not ${values.length}.`, hint);
}

/** Returns the output format. A token format that is set for all commands means text where no token is printed. */
function outputOf(invocation: Invocation, settings: Settings): string {
  const wanted = settingText(settings, 'output') ?? 'text';
  const known = invocation.spec.options.find(({ name }) => name === 'output')?.choices ?? FORMATS;
  if (known.includes(wanted)) return wanted;
  if (FORMATS.includes(wanted)) return 'text';
  return refuseValue(settings, 'output', 'is not a format', `choose one of: ${known.join(', ')}`);
}

/** Returns the world of one command line, as the use cases see it. What a cached token does not need is loaded late. */
export function portsOf(invocation: Invocation, settings: Settings, holds?: Ports['stdin']['holds']): Ports {
  const { ctx, report, interruption } = invocation;
  const { env, cwd, home, platform, now, startedAt, keychainHelper } = ctx;
  const prompter = prompterOf(invocation);
  const whyNot = whyNotAsked(invocation, settings);
  let given: Promise<Buffer> | undefined;
  return {
    ...{ env, cwd, home, platform, now, startedAt, keychainHelper, interruption },
    inCi: inCi(env),
    canPrompt: whyNot === undefined,
    whyNotAsked: whyNot,
    childEnvironment: () => environmentWithoutCredentials(env),
    stdin: {
      holds,
      read: (limits) => {
        // At a terminal it is asked for, because what is typed there would be shown.
        given ??=
          holds && whyNot === undefined
            ? prompter.hidden(`The ${holds}`).then((value) => Buffer.from(value.reveal()))
            : ctx.stdin.read(limits);
        return given;
      },
    },
    reporter: {
      ...report,
      spinner: async () => (await import('./output/spinner.js')).createSpinner(invocation),
      requests: async (text) => (await import('./output/spinner.js')).showRequests(invocation, text),
    },
    prompter,
  };
}

export function skipsMissing({ flags }: Invocation): boolean {
  return flags['skip-missing'] === true || flags['ignore-missing'] === true;
}
