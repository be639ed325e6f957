import path from 'node:path';
import { parseDuration } from '../config/duration.js';
import { refuseValue } from '../config/faults.js';
import { isInFile } from '../config/level.js';
import type { ConfigKey } from '../config/schema.js';
import { isOn, loadSettings, type Settings, settingText } from '../config/settings.js';
import { GraphException } from '../core/errors.js';
import type { TimeLeft } from '../core/options.js';
import type { Call } from './call.js';
import { type Target, targetOf } from './target.js';

/** The form alone; which versions are supported, core knows. */
const VERSION_FORM = /^(auto|[34]|\d{1,3}(\.\d{1,5}){1,2})$/;

/** What every command that talks to a database knows before it does anything. */
export interface Session {
  readonly call: Call;
  readonly settings: Settings;
  readonly target: Target;
  readonly graph: string | undefined;
  readonly username: string | undefined;
  /** Seconds. */
  readonly lifetime: number;
  readonly timeoutMs: number;
  /** What all requests of the command may still take. Time that passes between them does not count. */
  readonly timeLeft: TimeLeft;
  /** `$XDG_STATE_HOME/graphcred` */
  readonly stateDir: string;
  /** `$XDG_CONFIG_HOME/graphcred` */
  readonly configDir: string;
}

/**
 * Reads the settings and sets up the report.
 * @throws GraphException USAGE, CONFIG_INVALID, NOT_FOUND (profile)
 */
export async function openSession(call: Call, options: { newProfile?: boolean } = {}): Promise<Session> {
  const { settings, configDir, stateDir } = await openSettings(call, options);
  const { report } = call;
  const target = targetOf(settings);
  const lifetime = seconds(settings, 'lifetime');
  if (lifetime < 1)
    refuseValue(settings, 'lifetime', 'is too short', 'a token lives at least a second: --lifetime 15m');
  const timeoutMs = seconds(settings, 'timeout') * 1000;
  if (timeoutMs < 1)
    refuseValue(settings, 'timeout', 'is too short', 'allow at least a second: --timeout 30');
  // Used only on the way to a server; but what is mistyped is told whether or not a token is held.
  seconds(settings, 'wait');
  if (!VERSION_FORM.test(settingText(settings, 'serverVersion') ?? 'auto')) {
    refuseValue(
      settings,
      'serverVersion',
      'is not a server version',
      'write auto, 3, 4, or a number such as 3.10.1',
    );
  }
  if (isOn(settings, 'tls.insecure')) report.warn('server certificates are not checked (--insecure)');
  if (target.host.startsWith('http:') && !isLoopback(target.host.slice('http://'.length))) {
    report.warn(
      `${target.host} is reached without encryption: credentials can be read on the way. Use https if the server offers it`,
    );
  }
  return {
    call,
    settings,
    target,
    graph: settingText(settings, 'graph'),
    username: settingText(settings, 'username'),
    lifetime,
    timeoutMs,
    timeLeft: { ms: timeoutMs },
    stateDir,
    configDir,
  };
}

/** Where this user's files are. */
export function placesOf({ ctx }: Call): { configDir: string; stateDir: string } {
  const { XDG_CONFIG_HOME, XDG_STATE_HOME } = ctx.env;
  return {
    configDir: path.join(xdg(XDG_CONFIG_HOME) ?? path.join(ctx.home, '.config'), 'graphcred'),
    stateDir: path.join(xdg(XDG_STATE_HOME) ?? path.join(ctx.home, '.local', 'state'), 'graphcred'),
  };
}

/** The settings alone, for commands that talk to no database. */
export async function openSettings(call: Call, options: { newProfile?: boolean } = {}) {
  const { ctx, flags, report } = call;
  const { configDir, stateDir } = placesOf(call);
  refuseTwoFromStdin(call);
  report.quiet = flags.quiet === true;
  report.verbose = flags.verbose === true;
  const { env, cwd, home, uid } = ctx;
  const settings = await loadSettings({ flags, env, cwd, home, configDir, uid, ...options });
  report.json = outputOf(call, settings) === 'json';
  for (const note of settings.notes) report.detail(note);
  if (settings.refused.length > 0) {
    report.warn(
      `${settings.file?.path} is not trusted, so these keys in it are passed over: ${settings.refused.join(', ')}`,
    );
  }
  warnOfReaders(settings, call);
  return { settings, configDir, stateDir };
}

/** Whether they are read or not: whoever gives two means something that cannot be. */
function refuseTwoFromStdin({ flags }: Call): void {
  const named = ['password-stdin', 'secret-stdin', 'token-stdin'].filter((flag) => flags[flag] === true);
  const stdin = [...(flags.data === '-' ? ['-d -'] : []), ...named.map((flag) => `--${flag}`)];
  if (stdin.length < 2) return;
  throw new GraphException('USAGE', `Only one value can come from stdin, not ${stdin.length}.`, {
    hint: `keep one of: ${stdin.join(', ')}`,
  });
}

/** The format asked for. A format of tokens, set for all commands, is text where no token is printed. */
export function outputOf(call: Call, settings: Settings): string {
  const wanted = settingText(settings, 'output') ?? 'text';
  if (wanted === 'text' || wanted === 'json') return wanted;
  const known = call.spec.options.find(({ name }) => name === 'output')?.choices;
  if (known?.includes(wanted)) return wanted;
  const anywhere = ['text', 'json', 'env', 'header', 'github', 'gitlab'];
  if (!anywhere.includes(wanted))
    refuseValue(settings, 'output', 'is not a format', `choose one of: ${anywhere.join(', ')}`);
  return 'text';
}

export function seconds(settings: Settings, key: ConfigKey): number {
  const text = settingText(settings, key) ?? '';
  try {
    return parseDuration(text, key);
  } catch (error) {
    const { hint } = error as GraphException;
    return refuseValue(settings, key, 'is not a length of time', hint ?? '');
  }
}

function warnOfReaders(settings: Settings, { ctx, report }: Call): void {
  const { file } = settings;
  if (file && othersCanReadCredential(settings, ctx.uid))
    report.warn(`${file.path} holds a credential and other users can read it: chmod 600 ${file.path}`);
}

/** Whether the profile in force holds a credential in plain sight of other users of this machine. */
export function othersCanReadCredential({ file, all }: Settings, uid: number | undefined): boolean {
  if (!file || uid === undefined || (file.stat.mode & 0o044) === 0) return false;
  return (['password', 'secret'] as const).some((key) => all[key].some(({ level }) => isInFile(level)));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** The standard says that a path that is not absolute is to be ignored. */
function xdg(value: string | undefined): string | undefined {
  return value !== undefined && path.isAbsolute(value) ? value : undefined;
}
