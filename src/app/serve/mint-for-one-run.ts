import { findCredential } from '../../auth/choose.js';
import type { Credential } from '../../auth/credential.js';
import { expected, GraphException, usageError } from '../../core/errors.js';
import { isoSeconds } from '../../core/time.js';
import { Interrupted } from '../../run/interruption.js';
import type { Run } from '../../run/run.js';
import { findVersion } from '../../run/server.js';
import { mintToken } from '../tokens/mint-token.js';
import { revokerWith } from '../tokens/revoker.js';
import type { Token } from '../tokens/token-cache.js';

const REVOKE_MS = 10_000;

/** Mints a token for one run alone: it is neither cached nor taken from the store, and `revoke` ends it. */
export function mintForOneRun(run: Run) {
  const { interruption } = run.ports;
  return interruption.during(async () => {
    const credential = await findCredential(run, 'mint');
    if (credential.kind === 'jwt')
      throw usageError(
        `A JWT (${credential.label}) cannot be revoked: the database did not issue it.`,
        'leave --revoke out',
      );
    await credential.read();
    interruption.begin();
    const minted = await mintToken(run, credential, true);
    const revoke = () => revokeMinted(run, credential, minted);
    if (interruption.status === undefined) return { ...minted, revoke };
    throw new Interrupted(interruption.status, await revoke(), 'Interrupted; the token is revoked.');
  });
}

/** Revokes the token within a time limit of its own, however long minting took. Returns why it could not be. */
async function revokeMinted(run: Run, credential: Credential, minted: Token) {
  const outcome = await revokerWith(run, credential, REVOKE_MS)(minted.token, 0).catch(expected);
  if (outcome instanceof GraphException) {
    const hint = 'it ends by itself then; with a short --lifetime, --revoke is not needed';
    const doubt = 'it is not known whether the token is revoked; if not, it';
    const what = outcome.ambiguous ? doubt : 'the token could not be revoked, and';
    const message = `${outcome.message} So ${what} is valid until ${isoSeconds(minted.expiresAtUnix)}.`;
    return new GraphException('PARTIAL', message, { hint });
  }
  if (outcome === 'deleted' && (await findVersion(run)).revocationFillsBlockList)
    run.ports.reporter.note(
      'the token is revoked; the server keeps at most 20 revoked tokens of a user, and this one is among them until it expires',
    );
  return undefined;
}
