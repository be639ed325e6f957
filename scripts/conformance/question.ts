/** Which part of the protocol a server speaks: 3.0–3.4, 3.5–3.11 or 4.x. */
export type Generation = '3.0' | '3.5' | '4';

/** How a request logs in. The names are those of values, see `values.ts`. */
export type Login = 'password' | 'wrong-password' | { readonly bearer: string } | { readonly secret: string };

/**
 * One request to the server. Each `{name}` stands for a value that is filled in before sending: an alias of this run, a secret or token that it
 * created, or a credential. So the request itself can be shown and stored without a credential.
 */
export interface Question {
  readonly id: string;
  readonly about: string;
  readonly only: readonly Generation[];
  /** `old-rest` is port 9000 of the GSQL server's host; no credential is ever sent there. */
  readonly server: 'rest' | 'gsql' | 'old-rest';
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly login?: Login;
  /** The name for the token or the secret in the answer. */
  readonly learn?: { readonly token?: string; readonly secret?: string };
  /** How many seconds to wait before it is sent. */
  readonly after?: number;
  /** Whether it is sent only with --block-list. */
  readonly fillsBlockList?: true;
}

export const GENERATIONS: readonly Generation[] = ['3.0', '3.5', '4'];
const OLD: readonly Generation[] = ['3.0', '3.5'];

type Ask = Omit<Question, 'only'>;
const everywhere = (question: Ask): Question => ({ ...question, only: GENERATIONS });
const on3 = (question: Ask): Question => ({ ...question, only: OLD });
const on4 = (question: Ask): Question => ({ ...question, only: ['4'] });

/** Builds a request to `/requesttoken` of 3.x: its fields are in the query on 3.0–3.4, but for a secret to mint from, and in JSON from 3.5 on. */
function tokenRequest(
  question: Omit<Ask, 'server' | 'path' | 'json' | 'query'> & {
    readonly server?: 'rest' | 'gsql';
    readonly fields: Readonly<Record<string, string>>;
  },
): Question[] {
  const { fields, ...rest } = question;
  const server = question.server ?? 'rest';
  const path = server === 'gsql' ? '/gsqlserver/requesttoken' : '/requesttoken';
  const { secret, ...others } = fields;
  const isMint = rest.method === 'POST';
  // A secret to mint from is the body, so that it is in no URL.
  const old =
    isMint && secret !== undefined
      ? { query: others, text: secret }
      : { method: isMint ? 'GET' : rest.method, query: fields };
  return [
    { ...rest, server, path, ...old, only: ['3.0'] },
    { ...rest, server, path, json: fields, only: ['3.5'] },
  ];
}

/** Builds GSQL statements: 3.x requires the name of the graph first, 4.x does not. */
function gsql(question: Omit<Ask, 'server' | 'path' | 'method'> & { text: string }): Question[] {
  const { text } = question;
  const common = { login: 'password', ...question, server: 'gsql', method: 'POST' } as const;
  return [
    on3({ ...common, path: '/gsqlserver/gsql/file', text: `USE GRAPH {graph}\n${text}` }),
    on4({ ...common, path: '/gsql/v1/statements' }),
  ];
}

/** The functions with which `questions.ts` builds its list. */
export const ask = { everywhere, on3, on4, tokenRequest, gsql };
