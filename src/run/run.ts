import { refuseValue } from '../config/errors.js';
import { defaultMinTtl, type Settings, type SettingsInput, type Target } from '../config/keys.js';
import { isOn, millisecondsOf, secondsOf, settingsOfFile, settingText } from '../config/settings.js';
import { targetOf } from '../config/target.js';
import { expected, type GraphException } from '../core/errors.js';
import type { TlsOptions } from '../core/http/types.js';
import { isVersionOption, parseVersionOption, type ServerVersion } from '../core/protocol/version.js';
import type { Sensitive } from '../core/sensitive.js';
import { once } from './once.js';
import type { BareRun } from './ports.js';
import type { Stores } from './stores.js';

/** What a command that talks to no database works with. Made once, and never changed. */
export interface LocalRun extends BareRun {
  readonly stores: Stores;
  readonly search: SettingsInput;
  /** Why a nearer config file is ignored: it is not trusted. */
  readonly untrusted: GraphException | undefined;
}

/** What every use case gets, beside its input. Nothing in it is replaced; `asked` grows, and a renewal restarts stores and time. */
export interface Run extends LocalRun {
  readonly settings: Readonly<ReturnType<typeof readSettings>>;
  readonly target: Target;
  readonly asked: Asked;
}

/** Makes the run of a command that talks to a database; `more` goes before its settings. @throws GraphException CONFIG_INVALID, USAGE */
export function completeRun(local: LocalRun, more: Partial<Run['settings']> = {}): Run {
  const target = targetOf(local.settings);
  // A malformed time limit is refused before anything is done.
  void local.time.limitMs;
  return { ...local, settings: { ...readSettings(local.settings), ...more }, target, asked: new Asked() };
}

/** Returns the run of a profile as its config file alone has it; undefined where that is malformed. */
export function runOfProfile(local: LocalRun, profile: string): Run | undefined {
  try {
    return completeRun({ ...local, settings: settingsOfFile(local.settings.file, profile) });
  } catch (error) {
    expected(error);
    return undefined;
  }
}

function readSettings(settings: Settings) {
  const lifetime = secondsOf(settings, 'lifetime', 'give at least one second, for example --lifetime 15m');
  const serverVersion = settingText(settings, 'serverVersion') ?? 'auto';
  if (!isVersionOption(serverVersion)) {
    const versions = 'write auto, 3, 4, or a number such as 3.10.1';
    refuseValue(settings, 'serverVersion', 'is not a server version', versions);
  }
  // One that is not supported is refused too, before anything is looked up by it.
  void parseVersionOption(serverVersion);
  return {
    ...settings,
    graph: settingText(settings, 'graph'),
    username: settingText(settings, 'username'),
    secretAlias: settingText(settings, 'secretAlias'),
    /** The name of the token (`--principal`), which replaces the owner in its identity. */
    tokenLabel: settingText(settings, 'principal'),
    /** Whose secrets are managed; undefined for those of the login. */
    secretsOf: undefined as string | undefined,
    /** `auto`, `3`, `4` or a number such as `3.10.1`. */
    serverVersion,
    /** The token lifetime to ask for, in seconds. */
    lifetime,
    /** Seconds of life that a cached token must have left. */
    minTtl: settings.all.minTtl.length > 0 ? secondsOf(settings, 'minTtl') : defaultMinTtl(lifetime),
    insecure: isOn(settings, 'tls.insecure'),
    /** How long to wait for a server that is not up yet. */
    waitMs: millisecondsOf(settings, 'wait'),
  };
}

/** What a run has learned from a person, a server, a file or a program, so that it need not ask again. */
export class Asked {
  graph: string | undefined;
  username: string | undefined;
  /** The time by the clock of the server, as its last answer told it, in seconds since 1970. */
  serverTimeUnix: number | undefined;
  /** Until when `--wait` waits, by `uptimeMs`. */
  waitsUntilMs: number | undefined;
  version: Promise<ServerVersion> | undefined;
  tls: Promise<TlsOptions> | undefined;
  /** Runs a program for its credential, once for each reference. */
  readonly answer = once((_reference: string, run: () => Promise<Sensitive>) => run());
}

export function graphOf({ asked, settings }: Run): string | undefined {
  return asked.graph ?? settings.graph;
}

export function usernameOf({ asked, settings }: Run): string | undefined {
  return asked.username ?? settings.username;
}
