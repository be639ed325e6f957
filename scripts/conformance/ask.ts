import type { Generation, Question } from './question.js';
import { QUESTIONS } from './questions.js';
import { type Outcome, redact } from './redact.js';
import { type Answer, type Failure, send, type Target } from './target.js';
import { type Account, ALIASES, isLearned, namesIn, newValues, type Values } from './values.js';

export interface Asked {
  /** The answers by the id of the question. */
  readonly answers: Readonly<Record<string, Outcome>>;
  /** Descriptions of what the run created and could not remove. */
  readonly left: readonly string[];
}

export interface AskOptions {
  readonly account: Account;
  readonly generation: Generation;
  readonly version: string;
  readonly fillBlockList: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called before each request. */
  readonly onQuestion?: (question: Question) => void;
}

/** After five wrong logins in a row, a server makes the user wait; a good login resets the count. */
const MOST_WRONG_IN_A_ROW = 2;

export function questionsFor(generation: Generation, fillBlockList: boolean): Question[] {
  return QUESTIONS.filter(
    ({ only, fillsBlockList }) => only.includes(generation) && (fillBlockList || !fillsBlockList),
  );
}

/** Sends all questions in order, and then removes what they created, even after an interruption or an error. */
export async function askAll(target: Target, options: AskOptions): Promise<Asked> {
  const { account, generation, version, signal } = options;
  const values = newValues(account);
  const raw: Record<string, Answer | Failure> = {};
  const run: Run = { target, values, generation, touched: new Set() };
  let wrong = 0;
  let left: readonly string[] = [];
  try {
    for (const question of questionsFor(generation, options.fillBlockList)) {
      signal?.throwIfAborted();
      if (namesIn(question).some((name) => !values.has(name))) {
        raw[question.id] = { failure: 'not asked' };
        continue;
      }
      if (question.login === 'wrong-password') wrong++;
      if (question.login === 'password') wrong = 0;
      if (wrong > MOST_WRONG_IN_A_ROW) throw new Error(`${question.id}: too many wrong logins in a row.`);
      if (question.after !== undefined) await target.wait(question.after, signal);
      options.onQuestion?.(question);
      for (const alias of ALIASES) if (namesIn(question).includes(alias)) run.touched.add(alias);
      const answer = await send(target, question, values, signal);
      raw[question.id] = answer;
      if ('body' in answer) learn(question, answer.body, values);
    }
  } finally {
    left = await cleanUp(run);
  }
  const hosts = [target.gsqlUrl, target.restUrl].map((url) => new URL(url).hostname);
  const answers = Object.entries(raw).map(
    ([id, answer]) => [id, redact(answer, values, hosts, version)] as const,
  );
  const text = JSON.stringify(answers);
  const found = [...values].find(
    ([name, value]) => isCredential(name) && mentions(text, value, account.user),
  );
  if (found)
    throw new Error(`The value ${found[0]} is still in the answers, so nothing of them is shown or written.`);
  return { answers: Object.fromEntries(answers), left };
}

interface Run {
  readonly target: Target;
  readonly values: Values;
  readonly generation: Generation;
  /** The aliases that requests named, under which a secret may exist. */
  readonly touched: Set<string>;
}

/** Remembers the token or the secret in an answer, even if none was expected there. */
function learn({ learn: wanted }: Question, body: string, values: Values): void {
  const token = /"token" *: *"([\x21\x23-\x5b\x5d-\x7e]{12,})"/.exec(body)?.[1];
  if (token !== undefined && ![...values.values()].includes(token)) {
    values.set(wanted?.token ?? `extra${values.size}`, token);
  }
  if (wanted?.secret === undefined) return;
  const secret = /The secret: (\S+)/.exec(body)?.[1] ?? /"value" *: *"([^"]+)"/.exec(body)?.[1];
  if (secret !== undefined) values.set(wanted.secret, secret);
}

/** Removes the tokens and secrets of this run. Returns what could not be removed, for the person to remove. */
async function cleanUp({ target, values, generation, touched }: Run): Promise<string[]> {
  const tokens = [...values].filter(([name]) => /^(?:token\d|extra\d+)$/.test(name));
  for (const [name, token] of tokens) {
    // 4.x tokens expire by themselves and the block list is short, so only tokens with a long life are put on it.
    if (generation === '4' && !livesLong(token)) continue;
    await send(target, deletion(generation, name), values);
  }
  for (const alias of touched) await send(target, dropping(generation, alias), values);
  if (touched.size === 0) return [];
  const listed = await send(target, listing(generation), values);
  return [...touched]
    .flatMap((alias) => values.get(alias) ?? [])
    .filter((alias) => !('body' in listed && listed.status === 200 && !listed.body.includes(alias)))
    .map((alias) => `the secret ${alias}`);
}

function livesLong(jwt: string): boolean {
  try {
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
    return !(Number(claims.exp) - Date.now() / 1000 < 300);
  } catch {
    return true;
  }
}

function deletion(generation: Generation, token: string): Question {
  const common = { id: 'clean-up', about: '', only: [], method: 'DELETE', login: 'password' } as const;
  if (generation === '4') {
    return { ...common, server: 'gsql', path: '/gsql/v1/tokens', json: { tokens: `{${token}}` } };
  }
  const fields = { token: `{${token}}` };
  return generation === '3.0'
    ? { ...common, server: 'rest', path: '/requesttoken', query: fields }
    : { ...common, server: 'rest', path: '/requesttoken', json: fields };
}

function dropping(generation: Generation, alias: string): Question {
  const common = { id: 'clean-up', about: '', only: [], server: 'gsql', login: 'password' } as const;
  if (generation === '4') return { ...common, method: 'DELETE', path: `/gsql/v1/secrets/{${alias}}` };
  const text = `USE GRAPH {graph}\nDROP SECRET {${alias}}`;
  return { ...common, method: 'POST', path: '/gsqlserver/gsql/file', text };
}

function listing(generation: Generation): Question {
  const common = { id: 'clean-up', about: '', only: [], server: 'gsql', login: 'password' } as const;
  if (generation === '4')
    return { ...common, method: 'POST', path: '/gsql/v1/statements', text: 'SHOW SECRET' };
  const text = 'USE GRAPH {graph}\nSHOW SECRET';
  return { ...common, method: 'POST', path: '/gsqlserver/gsql/file', text };
}

function isCredential(name: string): boolean {
  return isLearned(name) || name === 'password' || name === 'badSecret' || name === 'badToken';
}

/** Whether the text contains the value, plain or encoded. A password equal to the user's name was already replaced as the name. */
function mentions(text: string, value: string, user: string): boolean {
  if (value === user || value === '') return false;
  const bytes = Buffer.from(value);
  const forms = [value, encodeURIComponent(value), bytes.toString('base64'), bytes.toString('hex')];
  return forms.some((form) => text.includes(form.replace(/=+$/, '')));
}
