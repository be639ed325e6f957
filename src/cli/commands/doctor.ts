import fs from 'node:fs';
import path from 'node:path';
import {
  type Check,
  type CheckId,
  type Found,
  fail,
  failed,
  IDS,
  ok,
  PROVIDER_IDS,
  SHARED_STORE_IDS,
  skipped,
  warn,
} from '../../app/doctor/check.js';
import { lookAtProvider } from '../../app/doctor/provider-checks.js';
import { lookAtSharedStore } from '../../app/doctor/redis-checks.js';
import { lookAtLogin, lookAtNetwork, lookAtServer } from '../../app/doctor/server-checks.js';
import { type Oidc, oidcOf } from '../../auth/oidc/settings.js';
import { chooseStore, stateDirOf } from '../../auth/stores.js';
import { findConfigs } from '../../config/find.js';
import { findTrustedConfig } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import { askAccess, keepOthersOut } from '../../files/access-list.js';
import { shellWord } from '../../files/shell-word.js';
import { STORES, type Store } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { placesOf } from '../context.js';
import { exitStatus } from '../output/exit-codes.js';
import { hintOf, inPlace } from '../output/hints.js';
import { singleLine } from '../output/report.js';
import { colours, wrapped } from '../output/table.js';
import { openSession, othersCanReadCredential, type Session } from '../session.js';

/** The width of the columns before the text. */
const INDENT = 7 + 2 + 12 + 2;

/** Runs `graphcred doctor`. */
export async function run(invocation: Invocation): Promise<number> {
  const { report, ctx } = invocation;
  const checks = await examine(invocation);
  if (report.json) {
    report.document({ checks: checks.map(({ id, verdict, cause, fix }) => ({ id, verdict, cause, fix })) });
  } else {
    const paint = await colours(invocation);
    const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
    const lines = checks.map(({ id, verdict, cause, fix }) => {
      const advice = fix === '' ? '' : ` -> ${fix}`;
      const room = Math.max(30, (ctx.stdout.columns ?? Number.POSITIVE_INFINITY) - INDENT);
      const text = wrapped(singleLine(cause + advice), room).join(`\n${' '.repeat(INDENT)}`);
      return `${tones[verdict](verdict.padEnd(7))}  ${id.padEnd(12)}  ${text}`;
    });
    report.result(lines.join('\n'));
  }
  const first = checks.find(({ verdict }) => verdict === 'fail');
  return first?.code === undefined ? 0 : exitStatus(first.code);
}

/**
 * Runs every check in the order of IDS, and those of a shared store if there is one. A check is skipped if an earlier
 * finding makes it impossible.
 */
async function examine(invocation: Invocation): Promise<(Check & { id: CheckId })[]> {
  const found: Found = {};
  // The output is often pasted into a ticket, so nothing is prompted for.
  const session = await openQuietly(invocation, found);
  const shares = session !== undefined && STORES[session.store.name].scope === 'fleet';
  let rest = 'the settings cannot be read';
  let oidc: Oidc | undefined;
  if (session) {
    const store = await lookAtStore(session, found);
    if (shares) await lookAtSharedStore(session, found);
    rest = 'the server cannot be asked';
    oidc = providerOf(session, found);
    await lookAtNetwork(session, found);
    const connected = await lookAtServer(session, found);
    if (oidc) await lookAtProvider(session, oidc, store, found);
    if (connected) await lookAtLogin(session, connected, store, found);
  }
  const checks = [
    ...IDS.map((id) => ({ id, ...(found[id] ?? skipped(rest)) })),
    ...(oidc ? PROVIDER_IDS : []).map((id) => ({ id, ...(found[id] ?? skipped(rest)) })),
    ...(shares ? SHARED_STORE_IDS : []).map((id) => ({
      id,
      ...(found[id] ?? skipped('the Redis server cannot be asked')),
    })),
  ];
  return checks.map((check) => ({
    ...check,
    cause: inPlace(check.cause, invocation.flags),
    fix: inPlace(
      hintOf({ hint: check.fix, option: check.option, remedies: check.remedies ?? [] }),
      invocation.flags,
    ),
  }));
}

function providerOf(session: Session, found: Found): Oidc | undefined {
  try {
    return oidcOf(session);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    found.config = failed(error);
    return undefined;
  }
}

/** Opens the session like every command, except that an untrusted config file is a failed check and not an error. */
async function openQuietly(invocation: Invocation, found: Found): Promise<Session | undefined> {
  const { mode, file: configFile, untrusted } = await lookAtFiles(invocation);
  try {
    // The output is often pasted into a ticket, so nothing is prompted for.
    const session = await openSession(invocation, { noInput: true });
    const { file, profile } = session.settings;
    if (untrusted !== undefined)
      found.config = fail(
        'CONFIG_UNTRUSTED',
        `${untrusted} is not trusted, so other commands refuse to run here`,
        `read it; if it is yours: graphcred config trust ${shellWord(untrusted)}; else: --config none`,
      );
    else if (!file) found.config = ok('no config file; flags, variables and defaults');
    else found.config = ok(`${file.path}, profile ${profile.name}`);
    found['config-mode'] = judgeMode(mode, configFile);
    if (othersCanReadCredential(session.settings, invocation.ctx.uid))
      found['config-mode'] = warn(
        'other users can read the credential in it',
        keepOthersOut(String(configFile)),
      );
    return session;
  } catch (error) {
    const check = failed(error);
    // The error is only about the mode: other users can write a file that holds a credential.
    if (isAboutMode(error)) {
      found.config = ok('the config file can be read');
      found['config-mode'] = check;
    } else {
      found.config = check;
      found['config-mode'] = judgeMode(mode, configFile);
    }
    return undefined;
  }
}

interface Files {
  readonly file: string | undefined;
  readonly mode: number | undefined;
  readonly untrusted: string | undefined;
}

async function lookAtFiles({ ctx, flags }: Invocation): Promise<Files> {
  const { cwd, home, env, uid } = ctx;
  const named = typeof flags.config === 'string' ? flags.config : env.GRAPHCRED_CONFIG;
  const input = { flags, env, cwd, home, uid, ...placesOf(ctx) };
  let file: string | undefined;
  let mode: number | undefined;
  try {
    file = [...findConfigs({ ...input, named: named || undefined })][0]?.path;
    mode = file !== undefined && uid !== undefined ? fs.statSync(file).mode & 0o777 : undefined;
    const { untrusted } = await findTrustedConfig(input);
    return { file, mode, untrusted: untrusted[0]?.path };
  } catch {
    // openSession reports this error with more detail.
    return { file, mode, untrusted: undefined };
  }
}

function isAboutMode(error: unknown): boolean {
  return error instanceof GraphException && error.setting === 'fileMode';
}

function judgeMode(mode: number | undefined, file: string | undefined): Check {
  if (file === undefined) return skipped('there is no config file');
  if (mode === undefined) return judgeAccess(file);
  const shown = `mode ${mode.toString(8).padStart(4, '0')}`;
  if ((mode & 0o022) !== 0) return warn(`${shown}: other users can change it`, keepOthersOut(file));
  return ok(shown);
}

function judgeAccess(file: string): Check {
  const access = askAccess(file);
  if (access === undefined) return skipped('nothing here tells who may change it');
  if (access === 'write') return warn('other users can change it', keepOthersOut(file));
  return ok(access === 'read' ? 'other users can read it' : 'no other user can read it');
}

/** Opens the store of this run; undefined when it cannot be used. */
async function lookAtStore(session: Session, found: Found): Promise<Store | undefined> {
  const choices = 'choose another: graphcred login --store keychain, or --store file';
  try {
    const store = await chooseStore(session);
    if (!STORES[store.name].keeps.tokens) {
      found.store = warn('none: nothing is kept, every call mints a token', choices);
      return store;
    }
    await store.check();
    requireWritable(stateDirOf(session));
    const { length } = await store.list();
    found.store = ok(`${store.name}, ${length} ${length === 1 ? 'entry' : 'entries'}`);
    return store;
  } catch (error) {
    const check = failed(error);
    const namesAnotherStore = error instanceof GraphException && error.setting === 'store';
    found.store = namesAnotherStore ? check : { ...check, fix: `${check.fix}; ${choices}` };
    return undefined;
  }
}

/** Checks that records could be written, without writing one. */
function requireWritable(stateDir: string): void {
  let dir = stateDir;
  while (!fs.existsSync(dir) && dir !== path.dirname(dir)) dir = path.dirname(dir);
  try {
    if (!fs.statSync(dir).isDirectory()) throw new Error('in the way');
    fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw new GraphException('STORE_UNAVAILABLE', `nothing can be written to ${stateDir}`, {
      hint: `check owner and mode of ${dir}`,
    });
  }
}
