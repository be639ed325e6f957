import { findCredential } from '../../auth/choose.js';
import type { Credential } from '../../auth/credential.js';
import { isSamePair } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { tokenFromStdin } from '../../run/read.js';
import type { Run } from '../../run/run.js';
import { STORES } from '../../store/store.js';
import { forget, markMaybeEnded } from './keep-token.js';
import { listTokens, rowsHere, type TokenRow } from './list-tokens.js';
import { failureOf, notDeletable, type Outcome, revokeTokens } from './revoke-tokens.js';
import { revokerWith } from './revoker.js';
import { isOfOwner, tokenCache } from './token-cache.js';

/** The tokens to delete: ids of `token list`, every one of this machine, or those of the owner of the credential. */
export type Targets = readonly string[] | 'everything' | 'one graph' | 'every graph';

/** Deletes tokens on their servers, then here: the one on stdin, else the targets. Returns how many, and what is left. */
export async function deleteTokens(run: Run, targets: Targets, skipMissing: boolean) {
  const store = await run.stores.chosen({ needed: true });
  const ids = typeof targets === 'string' ? [] : targets;
  const isNamed = targets === 'everything' || typeof targets !== 'string';
  const credential = isNamed ? undefined : await findCredential(run, 'mint', { saved: store });
  const given = credential && (await tokenFromStdin(run));
  const all = await listTokens(run, store);
  if (given) {
    const none = `The database at ${run.target.gsqlUrl} does not know this token.`;
    return deletionOf(run, [await deleteGiven(run, all, credential, given)], skipMissing, none);
  }
  const here = all.filter(({ record }) => isSamePair(record.info, run.target));
  // Where nothing is stored for the servers, they are not asked for their version.
  const cache = credential && here.length > 0 ? await tokenCache(run, store, credential) : undefined;
  const isOwn = ({ record }: TokenRow) =>
    cache !== undefined && isOfOwner(record, cache.identity, targets === 'every graph');
  const rows = credential
    ? here.filter(isOwn)
    : all.filter(({ id }) => targets === 'everything' || ids.includes(id));
  if (credential?.kind === 'jwt') throw notDeletable(run, rows.length > 0);
  const unknown = ids.filter((id) => !rows.some((row) => row.id === id));
  if (unknown.length > 0 || rows.length === 0) await run.stores.requireReadable(store);
  if (unknown.length > 0 && !skipMissing)
    throw new GraphException('NOT_FOUND', `There is no token ${unknown[0]}; nothing was deleted.`, {
      hint: ['see the ids', { command: 'token list' }],
    });
  const gone = unknown.map((): Outcome => ({ state: 'ended' }));
  const which = credential ? 'for this server, user and graph ' : '';
  const nothing = `No token ${which}is stored ${run.stores.place}.`;
  if (rows.length === 0) return deletionOf(run, gone, skipMissing, nothing);
  noteShared(run, rows);
  // A store or a credential that cannot be read ends the command before anything is sent.
  if (credential) for (const row of rows) await row.value();
  await credential?.read();
  const outcomes = await revokeTokens(run, rows, all, credential);
  const cause = outcomes.find(({ state }) => state === 'kept')?.error;
  if (credential && cause && outcomes.every(({ state }) => state === 'kept')) throw cause;
  const none = 'The server no longer knew any of these tokens.';
  return deletionOf(run, [...outcomes, ...gone], skipMissing, none);
}

async function deleteGiven(
  run: Run,
  all: readonly TokenRow[],
  credential: Credential,
  token: Sensitive,
): Promise<Outcome> {
  const rows = await rowsHere(run, token, all);
  if (rows.some(({ record }) => record.info.issuedBy === 'provider')) throw notDeletable(run);
  const [row] = rows;
  noteShared(run, rows);
  run.ports.interruption.begin();
  // Of one that is not stored here, nobody knows how old it is.
  const madeAtUnix = row?.record.createdAtUnix ?? run.ports.now() / 1000;
  const revoking = revokerWith(run, credential)(token, madeAtUnix);
  const state = await revoking.catch(markMaybeEnded(rows, token));
  return { row, state, error: await forget(rows, token) };
}

function noteShared({ ports }: Run, tokens: readonly TokenRow[]): void {
  if (tokens.some(({ record }) => STORES[record.store].isShared))
    ports.reporter.note('this ends tokens that machines share: jobs that use them need new ones');
}

/** @param none what to say when the server has deleted nothing */
function deletionOf(run: Run, outcomes: readonly Outcome[], skipMissing: boolean, none: string) {
  const count = (wanted: Outcome['state']) => outcomes.filter(({ state }) => state === wanted).length;
  const deleted = count('deleted');
  const missing = outcomes.filter(({ row, state }) => state === 'ended' && row === undefined).length;
  const notFound = new GraphException('NOT_FOUND', none, {
    hint: ['to ignore this: --skip-missing; to see the stored tokens', { command: 'token list' }],
  });
  // What an earlier run has ended, or time, is no part that is left to do.
  const failure = failureOf(run, outcomes) ?? (deleted === 0 && !skipMissing ? notFound : undefined);
  return { deleted, ended: count('ended') - missing, missing, failure };
}
