import {
  createSecretStatement,
  dropSecretStatement,
  parseCreated,
  parseDropped,
  parseSecretList,
  SHOW_SECRET,
} from './gsql-text.js';
import type { HttpReply, HttpRequest } from './http.js';
import type { NewSecret, Protocol, Secret } from './protocol.js';
import { maskSecret } from './server-text.js';

export type Run = (statement: string) => Promise<{ request: HttpRequest; reply: HttpReply }>;

const PLAIN_ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The three operations on secrets as GSQL statements. `run` sends one and chooses the graph if there is one. */
export function gsqlSecrets(run: Run): Pick<Protocol, 'listSecrets' | 'createSecret' | 'dropSecret'> {
  const listSecrets = async (): Promise<Secret[]> => {
    const { request, reply } = await run(SHOW_SECRET);
    return parseSecretList(request, reply);
  };

  return {
    listSecrets,

    async createSecret(alias, wantAlias) {
      // The answer does not name a generated alias, so the lists before and after have to.
      const before = alias === '' && wantAlias ? await listSecrets() : undefined;
      const { request, reply } = await run(createSecretStatement(alias));
      const value = parseCreated(request, reply);
      if (before === undefined) return { alias, value };
      return { alias: await newAlias(before, listSecrets, maskSecret(value.reveal())), value };
    },

    async dropSecret(alias) {
      if (!PLAIN_ALIAS.test(alias) && !isListed(await listSecrets(), alias)) return 'missing';
      const { request, reply } = await run(dropSecretStatement(alias));
      const refused = parseDropped(request, reply);
      if (refused === undefined) return 'dropped';
      if (refused.code !== 'SERVER_ERROR' || isListed(await listSecrets(), alias)) throw refused;
      return 'missing';
    },
  };
}

export function isListed(secrets: readonly Secret[], alias: string): boolean {
  return secrets.some((secret) => secret.alias === alias);
}

/** Empty rather than an error when it cannot be found: the value is known, and known only this once. */
async function newAlias(
  before: Secret[],
  list: () => Promise<Secret[]>,
  mask: string,
): Promise<NewSecret['alias']> {
  const after = await list().catch(() => list().catch((): Secret[] => []));
  const added = after.filter((secret) => secret.masked === mask && !isListed(before, secret.alias));
  return added.length === 1 ? (added[0]?.alias ?? '') : '';
}
