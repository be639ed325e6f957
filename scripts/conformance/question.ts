/** Which part of the protocol a server speaks: 3.0–3.4, 3.5–3.11 or 4.x. */
export type Generation = '3.0' | '3.5' | '4';

/** What a request logs in with. The names are those of values, see `values.ts`. */
export type Login = 'password' | 'wrong-password' | { readonly bearer: string } | { readonly secret: string };

/**
 * One request to the server. Every `{name}` stands for a value that is filled in when it is sent: an alias of
 * this run, a secret or token it made, a credential. So the requests can be shown and kept as they are.
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
  /** Seconds to wait before it is sent. */
  readonly after?: number;
  /** Asked only with --block-list. */
  readonly fillsBlockList?: true;
}

export const GENERATIONS: readonly Generation[] = ['3.0', '3.5', '4'];
const OLD: readonly Generation[] = ['3.0', '3.5'];

type Ask = Omit<Question, 'only'>;
const everywhere = (question: Ask): Question => ({ ...question, only: GENERATIONS });
const on3 = (question: Ask): Question => ({ ...question, only: OLD });
const on4 = (question: Ask): Question => ({ ...question, only: ['4'] });

/** A request to `/requesttoken` of 3.x: by query on 3.0–3.4, as JSON from 3.5 on. */
function tokenRequest(
  question: Omit<Ask, 'server' | 'path' | 'json' | 'query'> & {
    readonly server?: 'rest' | 'gsql';
    readonly fields: Readonly<Record<string, string>>;
  },
): Question[] {
  const { fields, ...rest } = question;
  const server = question.server ?? 'rest';
  const path = server === 'gsql' ? '/gsqlserver/requesttoken' : '/requesttoken';
  const old = rest.method === 'POST' ? 'GET' : rest.method;
  return [
    { ...rest, server, path, method: old, query: fields, only: ['3.0'] },
    { ...rest, server, path, json: fields, only: ['3.5'] },
  ];
}

/** GSQL statements: 3.x wants the graph named first, 4.x does not. */
function gsql(question: Omit<Ask, 'server' | 'path' | 'method'> & { text: string }): Question[] {
  const { text } = question;
  const common = { login: 'password', ...question, server: 'gsql', method: 'POST' } as const;
  return [
    on3({ ...common, path: '/gsqlserver/gsql/file', text: `USE GRAPH {graph}\n${text}` }),
    on4({ ...common, path: '/gsql/v1/statements' }),
  ];
}

/** The shape of questions that `questions.ts` lists. */
export const ask = { everywhere, on3, on4, tokenRequest, gsql };
