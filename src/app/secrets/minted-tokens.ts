import { isSecretId } from '../../auth/credential.js';
import { GraphException } from '../../core/errors.js';
import { isoSeconds } from '../../core/time.js';
import { pluralize } from '../format.js';
import type { Login } from '../gsql-login.js';
import { listTokens, type TokenRow } from '../tokens/list-tokens.js';
import { failureOf, revokeTokens } from '../tokens/revoke-tokens.js';
import { isHere, type Listed, maskedLike, savedAs } from './saved-secrets.js';

/** Finds what is saved of a secret before it is dropped, as a new one may get its name. Returns a function that deletes it. */
export async function forgetterOf(login: Login, listed: Listed) {
  const { now, reporter } = login.run.ports;
  const { tokensOutliveSecret } = login.version;
  const held = heldOf(login, [listed]);
  // The secret is dropped all the same; the function then throws the error.
  await held.catch(() => {});
  return async () => {
    const { saved, minted } = await held;
    const living = minted.filter(({ record }) => record.expiresAtUnix > now() / 1000);
    if (tokensOutliveSecret && living.length > 0) {
      const until = isoSeconds(Math.max(...living.map(({ record }) => record.expiresAtUnix)));
      const count = pluralize(living.length, 'token');
      reporter.note([
        `${count} made from the secret "${listed.alias}" can still be used until ${until}`,
        'to revoke',
        deleteCommand(living),
      ]);
    }
    // The tokens are recognized by what is saved, so another run could not go on without it.
    for (const one of [...(tokensOutliveSecret ? [] : minted), ...saved])
      await one.store.delete(one.record.key);
  };
}

const deleteCommand = (tokens: readonly TokenRow[]) => ({
  command: `token delete ${tokens.map(({ id }) => id).join(' ')}`,
});

/** Finds what is saved of secrets, and the tokens minted from that, or from the one that logs in. */
async function heldOf(login: Login, secrets: readonly Listed[]) {
  const { kind, principal, read } = login.credential;
  const saved = await savedAs(login, secrets);
  const ids = new Set(saved.map(({ record }) => record.info.id));
  if (kind === 'secret' && (await maskedLike(secrets, read)).length > 0) ids.add(principal);
  const all = await listTokens(login.run, login.store);
  const minted = all.filter(({ record }) => ids.has(record.info.principal) && isHere(login, record));
  return { saved, all, minted };
}

/** Revokes the cached tokens minted from secrets which are about to be dropped. Throws when one could not be revoked. */
export async function revokeTokensOf(login: Login, secrets: readonly Listed[]): Promise<void> {
  const { run, credential } = login;
  const { all, minted } = await heldOf(login, secrets);
  // Of a secret that was given in a file or a variable, nothing says its alias. On 3.x its tokens end with it.
  const unknown = all.filter((row) => {
    const { principal } = row.record.info;
    const isOfOther = isSecretId(principal) && principal !== credential.principal;
    return isOfOther && !row.minter && !minted.includes(row) && isHere(login, row.record);
  });
  if (login.version.tokensOutliveSecret && unknown.length > 0) {
    const count = pluralize(unknown.length, 'token');
    const told = `${count} stored here may be of another secret, so not revoked; to revoke`;
    run.ports.reporter.note([told, deleteCommand(unknown)]);
  }
  const failure = failureOf(run, await revokeTokens(run, minted, all, credential));
  if (!failure) return;
  const fix = [...failure.fix, 'to go on without revoking, leave out --revoke'];
  throw new GraphException(failure.code, `No secret was changed. ${failure.message}`, { ...failure, fix });
}
