import { GraphException } from '../../core/errors.js';
import { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { fromStdin } from '../../credentials/readers.js';
import { describeLevel, describePair, isForThisPair, serversOfLevel } from '../session/binding.js';
import type { Session } from '../session/types.js';

/** Reads the token given with `--token-stdin`, if it was. It belongs to the pair of base URLs in force. */
export async function tokenFromStdin(session: Session): Promise<Sensitive | undefined> {
  const { ctx, flags } = session.invocation;
  if (flags['token-stdin'] !== true) return undefined;
  return fromStdin(ctx.stdin.read, '--token-stdin', session.timeoutMs);
}

/**
 * Returns the token in `TG_API_TOKEN`. It is ignored if --profile was typed or if it belongs to other servers than
 * those in force.
 */
export async function tokenFromVariable(session: Session): Promise<Sensitive | BoundCredential | undefined> {
  const { ctx, flags, report } = session.invocation;
  const value = ctx.env.TG_API_TOKEN;
  if (!value || flags.profile !== undefined) return undefined;
  const servers = (await isForThisPair(session, 'tgVariable'))
    ? await serversOfLevel(session, 'tgVariable')
    : undefined;
  if (servers === 'in force') return new Sensitive(value);
  if (servers !== undefined) return new BoundCredential(new Sensitive(value), servers);
  report.note('TG_API_TOKEN is for the servers in TG_HOST and is not used here');
  return undefined;
}

/**
 * Looks for another credential or token when the token in `TG_API_TOKEN` belongs to other servers.
 * @throws GraphException HOST_MISMATCH when nothing else is found and the variable belongs to other servers
 */
export async function tokenFromVariableOr<T>(session: Session, find: () => Promise<T>): Promise<T> {
  const { ctx, flags } = session.invocation;
  try {
    return await find();
  } catch (error) {
    const isSet = Boolean(ctx.env.TG_API_TOKEN) && flags.profile === undefined;
    if (!isSet || !(error instanceof GraphException) || error.code !== 'INPUT_REQUIRED') throw error;
    throw new GraphException(
      'HOST_MISMATCH',
      `TG_API_TOKEN belongs to ${describeLevel(session, 'tgVariable')}; it is not sent to ${describePair(session.target)}.`,
      { hint: 'give a credential for these servers: --secret-stdin, --password-stdin or GRAPHCRED_SECRET' },
    );
  }
}
