import {
  type Check,
  type CheckId,
  type Found,
  failed,
  IDS,
  PROVIDER_IDS,
  SHARED_STORE_IDS,
  skipped,
} from '../../app/doctor/check.js';
import { lookAtProvider } from '../../app/doctor/provider-checks.js';
import { lookAtSharedStore } from '../../app/doctor/redis-checks.js';
import { lookAtLogin, lookAtNetwork, lookAtServer } from '../../app/doctor/server-checks.js';
import { type Oidc, oidcOf } from '../../auth/oidc/settings.js';
import { GraphException } from '../../core/errors.js';
import { STORES } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { lookAtStore, openQuietly } from '../doctor-files.js';
import { exitStatus } from '../output/exit-codes.js';
import { hintOf, inPlace } from '../output/hints.js';
import { singleLine } from '../output/report.js';
import { colours, wrapped } from '../output/table.js';
import type { Session } from '../session.js';

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
export async function examine(invocation: Invocation): Promise<(Check & { id: CheckId })[]> {
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
