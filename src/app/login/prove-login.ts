import { findCredential, isUnread } from '../../auth/choose.js';
import { type Connected, connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { askGraph, askPassword, askUsername } from '../../auth/prompts.js';
import { expected, GraphException, usageError } from '../../core/errors.js';
import { graphOf, type Run } from '../../run/run.js';
import { requireGraph } from '../../run/server.js';
import type { Store } from '../../store/store.js';
import { pluralize } from '../format.js';
import type { Login } from '../gsql-login.js';

const MAX_ATTEMPTS = 3;
const LOGIN_PROOF_SECONDS = 60;

/** Finds the credential of a login, and proves it and the graph. A person is asked again for what the server refuses. */
export async function proveLogin(run: Run, store: Store, savePassword: boolean): Promise<Login> {
  const left = { login: MAX_ATTEMPTS, graph: MAX_ATTEMPTS };
  let credential = await findUsable(run, store, savePassword);
  for (;;) {
    const proof = await sendProof(run, credential).catch(expected);
    if (!(proof instanceof GraphException)) return { ...proof, run, store, credential };
    const wrong = wrongAnswer(run, credential, proof);
    // What is saved is no try of the person.
    if (!wrong || (wrong !== 'saved' && --left[wrong] === 0)) throw proof;
    const { code, message, hint } = proof;
    const told = code === 'USAGE' ? `${message.replace(/\.$/, '')} (${hint}).` : message;
    const [what, attempts] = wrong === 'graph' ? ['the graph', left.graph] : ['the password', left.login];
    run.ports.reporter.ask(`warning: ${told} Type ${what} (${pluralize(attempts, 'more attempt')}).`);
    if (wrong === 'graph') await askGraph(run);
    else if (wrong === 'saved') credential = await findUsable(run, 'ignored', savePassword);
    else
      credential = (await askPasswordAgain(run, credential)) ?? (await findUsable(run, store, savePassword));
  }
}

/** Asks for the password again. A user name that was typed may be the wrong one: Enter alone asks for that again. */
async function askPasswordAgain(run: Run, credential: Credential): Promise<Credential | undefined> {
  const isTyped = run.asked.username !== undefined;
  const { username = '' } = credential;
  const password = await askPassword(run, username, isTyped ? 'another user name' : undefined);
  if (password.reveal() !== '') return { ...credential, read: async () => password };
  await askUsername(run);
  // Something may be saved for that user.
  return undefined;
}

/** Finds the credential to log in with. @throws GraphException USAGE for one that is not what is to be saved */
async function findUsable(run: Run, saved: Store | 'ignored', savePassword: boolean): Promise<Credential> {
  const credential = savePassword
    ? await findCredential(run, 'login', { saved: 'ignored' })
    : await findCredential(run, 'mint', { saved });
  const { kind, label, level } = credential;
  if (kind === 'jwt')
    throw usageError(
      `A login cannot save a JWT (${label}).`,
      'other commands take it without a login; or leave it out, and log in with a password or a secret',
    );
  const secret = run.ports.stdin.holds === 'secret' ? '--secret-stdin' : kind === 'secret' && label;
  if (secret && savePassword)
    throw usageError(
      `There is no password to save: ${secret} gives a secret.`,
      'leave --save-password out, or log in with a password: --password-stdin',
    );
  if (run.ports.canPrompt && level === 'store') run.ports.reporter.note(`using the ${label}`);
  return credential;
}

/** Returns what the server refuses, where a person can give another one: the password, what is saved here, or the graph. */
function wrongAnswer(run: Run, { level }: Credential, error: GraphException) {
  const { code, option } = error;
  if (!run.ports.canPrompt) return undefined;
  // A saved credential that cannot be read is of no more use than one that is refused.
  if (level === 'store' && (isUnread(error) || code === 'AUTH_FAILED')) return 'saved';
  if (code === 'AUTH_FAILED') return level === 'prompt' ? 'login' : undefined;
  return graphOf(run) !== undefined && (code === 'NOT_FOUND' || option === 'graph') ? 'graph' : undefined;
}

/** Proves login and graph with a request that changes nothing. A secret that can send none proves itself with a mint. */
export async function sendProof(run: Run, credential: Credential): Promise<Connected> {
  const connected = await connect(run, credential);
  const { connection, version } = connected;
  const lacksGraph = version.secretsNeedGraph && graphOf(run) === undefined;
  if (credential.kind === 'secret' && (lacksGraph || !version.secretLogsIn)) {
    // From here on the server is changed.
    run.ports.interruption.begin();
    await connection.mintToken({ lifetime: LOGIN_PROOF_SECONDS });
    return connected;
  }
  if (lacksGraph) requireGraph(run);
  if (graphOf(run) === undefined) await connection.listSecrets();
  else await connection.checkGraph();
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  run.time.deadline.check();
  return connected;
}
