import type { Context } from './context.js';

/** Ours, and what the same values are called elsewhere. */
const CREDENTIALS = /^(GRAPHCRED_(PASSWORD|SECRET|STORE_KEY)|TG_(PASSWORD|SECRET|JWT_TOKEN|API_TOKEN)$)/;

/** What a program that graphcred starts finds in its environment: nothing that could be used or minted with. */
export function withoutCredentials(env: Context['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !CREDENTIALS.test(name)));
}
