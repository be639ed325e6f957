import type { Asked } from './ask.js';
import type { Question } from './question.js';
import type { Outcome } from './redact.js';

export type Verdict = 'same' | 'differs' | 'unknown';

export interface Row {
  readonly id: string;
  readonly about: string;
  readonly verdict: Verdict;
  readonly theirs: string;
  readonly ours: string;
}

/** Returns each question with the answers of the server and of the sandbox. */
export function compare(questions: readonly Question[], theirs: Asked, ours: Asked): Row[] {
  return questions.map(({ id, about }) => {
    const [their, our] = [theirs.answers[id], ours.answers[id]];
    return { id, about, verdict: judge(their, our), theirs: outcomeText(their), ours: outcomeText(our) };
  });
}

function judge(theirs: Outcome | undefined, ours: Outcome | undefined): Verdict {
  if (theirs === undefined || ours === undefined) return 'unknown';
  if (outcomeText(theirs) === outcomeText(ours)) return isNoAnswer(theirs) ? 'unknown' : 'same';
  // A question without an answer tells nothing about the server's texts, nor does an answer that lists other secrets too.
  if (isNoAnswer(theirs) || ('others' in theirs && theirs.others)) return 'unknown';
  return 'differs';
}

/** A refused connection counts as an answer. A question that was not sent has none. */
function isNoAnswer(outcome: Outcome): boolean {
  return 'failure' in outcome && outcome.failure !== 'refused';
}

function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'not asked';
  if ('failure' in outcome) return outcome.failure;
  const { status, headers, body, jwt } = outcome;
  const token = jwt && ` token ${jwt.alg} ${jwt.claims.join(',')} life ${jwt.life}`;
  const head = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
  return `${status}${head.join('')}${token ?? ''} ${JSON.stringify(body)}`;
}

export function table(rows: readonly Row[]): string {
  const lines = rows.flatMap(({ id, about, verdict, theirs, ours }) => [
    `${verdict.padEnd(8)}${id}: ${about}`,
    ...(verdict === 'differs' ? [`          theirs ${theirs}`, `          ours   ${ours}`] : []),
    ...(verdict === 'unknown' ? [`          theirs ${theirs}`] : []),
  ]);
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length;
  lines.push(`${count('same')} same, ${count('differs')} differ, ${count('unknown')} unknown.`);
  return lines.map((line) => `${line}\n`).join('');
}
