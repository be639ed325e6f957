import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '../../src/sandbox/server.js';
import { parseServerVersion } from '../../src/sandbox/server-version.js';
import { type Asked, askAll, questionsFor } from './ask.js';
import { compare, type Row } from './compare.js';
import type { Generation, Question } from './question.js';
import type { Outcome } from './redact.js';
import { send, type Target } from './target.js';
import { type Account, lettersAndDigits, newValues } from './values.js';

/** The content of `conformance-<version>.json`. */
export interface Recording {
  readonly format: 1;
  readonly version: string;
  readonly restAuth: 'on' | 'off';
  /** Whether the account is `tigergraph` with the password `tigergraph`. Some servers then behave differently. */
  readonly defaultAccount: boolean;
  readonly fillBlockList: boolean;
  readonly answers: Readonly<Record<string, Outcome>>;
  /** Written by hand: the reasons why the sandbox answers a question differently. */
  readonly accepted?: Readonly<Record<string, string>>;
}

export interface Setup {
  readonly version: string;
  readonly account: Account;
  readonly fillBlockList: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onQuestion?: (question: Question) => void;
}

type Names = Pick<Account, 'user' | 'graph'>;

export function generationOf(version: string): Generation {
  return parseServerVersion(version).generation;
}

function isDefault({ user, password }: Account): boolean {
  return user === 'tigergraph' && password === 'tigergraph';
}

/** Waits in real time, as a real server needs it. */
export function realWait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return delay(seconds * 1000, undefined, signal && { signal });
}

/** Returns `X.Y` or `X.Y.Z` as the server reports it, if possible without a login; undefined if it reports none. */
export async function findVersion(
  target: Target,
  account: Account,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const values = newValues(account);
  const common = { id: 'version', about: '', only: [], server: 'gsql' } as const;
  const newer = { ...common, method: 'GET', path: '/gsql/v1/version' };
  const older = { ...common, method: 'POST', path: '/gsqlserver/gsql/version', text: 'v' };
  let unreachable = '';
  for (const question of [newer, older]) {
    let answer = await send(target, question, values, signal);
    if ('status' in answer && (answer.status === 401 || answer.status === 403)) {
      answer = await send(target, { ...question, login: 'password' }, values, signal);
    }
    if ('failure' in answer) unreachable = answer.failure;
    else {
      const found = /^\s*GSQL version(?::\s*|\s+)v?([34]\.\d{1,3}(?:\.\d{1,3})?)\b/im.exec(answer.body);
      if (found && answer.status === 200) return found[1];
    }
  }
  if (unreachable) throw new Error(`The GSQL server does not answer (${unreachable}). Check --gsql-url.`);
  return undefined;
}

/** Sends all questions to a server and records its answers. */
export async function record(target: Target, setup: Setup): Promise<Recording & Pick<Asked, 'left'>> {
  const { version, fillBlockList } = setup;
  const asked = await askAll(target, { ...setup, generation: generationOf(version) });
  const open = asked.answers['rest-no-token'];
  const restAuth = open !== undefined && 'status' in open && open.status === 200 ? 'off' : 'on';
  return { format: 1, version, restAuth, defaultAccount: isDefault(setup.account), fillBlockList, ...asked };
}

/** Sends the same questions to the sandbox of that version and records its answers. */
export async function recordSandbox(
  { version, restAuth, defaultAccount, fillBlockList }: Omit<Recording, 'answers'>,
  names: Names,
): Promise<Asked> {
  const { graph } = names;
  // A real password is sent only to the real servers.
  const [user, password] = defaultAccount ? ['tigergraph', 'tigergraph'] : [names.user, lettersAndDigits(24)];
  const generation = generationOf(version);
  const sandbox = await startSandbox({
    serverVersion: version,
    gsqlPort: 0,
    ...(generation === '4' ? {} : { restPort: 0 }),
    restAuth,
    users: [{ name: user, password, role: 'superuser' }],
    graphs: [graph],
  });
  try {
    let ahead = 0;
    const target: Target = {
      gsqlUrl: sandbox.gsqlUrl,
      restUrl: sandbox.restUrl,
      oldRestUrl: undefined,
      wait: async (seconds) => {
        ahead += seconds;
        sandbox.addFault({ action: 'clock', seconds: ahead });
      },
    };
    return await askAll(target, { account: { user, password, graph }, generation, version, fillBlockList });
  } finally {
    await sandbox.close();
  }
}

/** Compares the answers of a recording with those of the sandbox. */
export async function compareWithSandbox(recording: Recording, names: Names): Promise<Row[]> {
  const ours = await recordSandbox(recording, names);
  const questions = questionsFor(generationOf(recording.version), recording.fillBlockList);
  return compare(questions, { answers: recording.answers, left: [] }, ours);
}
