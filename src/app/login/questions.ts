import { connect, findVersion, serversInForce } from '../../auth/connect.js';
import { oidcOf } from '../../auth/oidc/settings.js';
import { askUsername } from '../../auth/prompts.js';
import type { Run } from '../../auth/run.js';
import { sourcesInSettings } from '../../auth/sources.js';
import type { Flags } from '../../config/keys.js';
import { readAddress } from '../../config/target.js';
import { GraphException, whyFailed } from '../../core/errors.js';

/** Errors of an address that a person may have mistyped. */
const WRONG_ADDRESS = /^(NETWORK|TIMEOUT|TLS|BAD_RESPONSE|NOT_FOUND|SERVER_UNAVAILABLE|UNSUPPORTED)$/;

/** How long to wait for the REST server, which a firewall may hide. */
const PROBE_MS = 5000;

/** What a person has answered so far. */
export interface Form {
  run: Run;
  /** The address to suggest. */
  suggestion?: string;
  /** Opens the run again, with an answer that counts like an option that was typed. */
  readonly open: (answer: Flags, earlier: Run | undefined) => Promise<Run>;
}

/** What is asked, and what the answer is good for. */
export interface Question<F> {
  isOpen(form: F): boolean;
  /** @param wrong what an earlier answer has led to */
  ask(form: F, wrong?: GraphException): Promise<void>;
  /** Finds out whether the answer is right. */
  check?(form: F): Promise<unknown>;
  /** Whether another answer may mend the error of the check. */
  isMendable?(form: F, error: GraphException): boolean;
}

/** No credential is sent before they are answered: a server that cannot be reached ends the login before a password is typed. */
const QUESTIONS: readonly Question<Form>[] = [
  {
    isOpen: ({ run: { settings } }) =>
      settings.all.host.every(({ level }) => level === 'default') && settings.all.gsqlUrl.length === 0,
    ask: askAddress,
    check: ({ run }) => findVersion(run),
    isMendable: ({ suggestion }, { code }) => suggestion !== undefined && WRONG_ADDRESS.test(code),
  },
  {
    isOpen: () => false,
    ask: askRestPort,
    check: requireRestServer,
    // A port is no answer to a variable or a whole URL.
    isMendable: ({ run: { target, settings } }) =>
      target.endpoints.restUrl === undefined &&
      (settings.all.gsqlUrl[0] ?? settings.all.host[0])?.level === 'flag',
  },
  { isOpen: ({ run }) => run.settings.graph === undefined, ask: askGraph },
  {
    isOpen: ({ run }) => run.settings.username === undefined && !signsInAtProvider(run),
    ask: async (form) => {
      form.run = await form.open({ username: await askUsername(form.run) }, form.run);
    },
  },
];

/** Asks a person for what the settings do not say: address, graph and user. */
export async function askMissing(form: Form): Promise<void> {
  for (const question of QUESTIONS) await askUntilRight(form, question);
}

/**
 * Asks a question if it is open, and again while the answer is wrong.
 * @throws GraphException that no other answer mends
 */
export async function askUntilRight<F>(form: F, question: Question<F>): Promise<void> {
  if (question.isOpen(form)) await question.ask(form);
  for (;;) {
    const wrong = question.check && (await whyFailed(question.check(form)));
    if (wrong === undefined) return;
    if (!question.isMendable?.(form, wrong)) throw wrong;
    await question.ask(form, wrong);
  }
}

/** Whether the login is at the identity provider that is typed or set, and not with a credential that is typed. */
export function signsInAtProvider(run: Run): boolean {
  const given = sourcesInSettings(run).some(({ level }) => level === 'flag');
  return oidcOf(run) !== undefined && !given;
}

async function askAddress(form: Form, wrong?: GraphException): Promise<void> {
  const { prompter, reporter } = form.run.ports;
  if (wrong) reporter.warn(`${wrong.message} Type the address again.`);
  const typed = await prompter.text('Host, a name or a URL', {
    suggestion: form.suggestion ?? 'http://127.0.0.1',
    refuse: (text) =>
      addressOf(text) ? undefined : 'Write a name or a URL, for example https://graph.example.com.',
  });
  // A name without a scheme is tried with https; the database may have no TLS.
  form.suggestion = typed.includes('://') ? typed : `http://${typed}`;
  form.run = await form.open({ host: undefined, 'gsql-url': undefined, ...addressOf(typed) }, undefined);
}

const addressOf = (typed: string) => readAddress(typed) ?? readAddress(`https://${typed}`);

async function askRestPort(form: Form, wrong?: GraphException): Promise<void> {
  const { prompter, reporter } = form.run.ports;
  if (wrong) reporter.warn(wrong.message);
  const port = await prompter.text('Port of the REST server', {
    refuse: (text) =>
      /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
        ? undefined
        : 'A port is a whole number from 1 to 65535.',
  });
  form.run = await form.open({ 'rest-port': port }, form.run);
}

/** Asks the REST server, whose address is not to be saved when no token can come from there. */
async function requireRestServer({ run }: Form): Promise<void> {
  const { connection, version } = await connect(run, undefined, PROBE_MS);
  // It is behind the GSQL server, which has answered.
  if (run.target.restUrl === undefined && version.restBehindGsql) return;
  if ((await connection.restAuthentication()) !== 'unknown') return;
  const { restUrl } = await serversInForce(run);
  throw new GraphException('BAD_RESPONSE', `${restUrl} is not a REST server.`, {
    hint: 'give its address, which ends with /restpp on 4.x: --rest-url',
  });
}

async function askGraph(form: Form): Promise<void> {
  const { secretsNeedGraph } = await findVersion(form.run);
  const question = secretsNeedGraph ? 'Graph' : 'Graph (Enter for none)';
  const graph = await form.run.ports.prompter.text(question, { optional: !secretsNeedGraph });
  form.run = await form.open({ graph }, form.run);
}
