import { findVersion } from '../auth/connect.js';
import { askUsername } from '../auth/prompts.js';
import { serversInForce } from '../auth/servers.js';
import { isProfileName } from '../config/schema.js';
import { requireRewritable } from '../config/write.js';
import { GraphException } from '../core/errors.js';
import type { Invocation } from './command.js';
import type { Session } from './session.js';
import { openSession } from './session.js';

/**
 * Opens the session of the profile that is about to be written, and asks for missing settings on a terminal. Only the
 * user's own config file is read, and of it only this profile.
 * @throws GraphException USAGE for a profile name that is not valid in a config file, CONFIG_INVALID when that file cannot
 * be rewritten
 */
export async function openCompleted(invocation: Invocation): Promise<Session> {
  const answers: Record<string, string> = {};
  const open = () => openSession(invocation, { newProfile: true, answers, isStepwise: true });
  let session = await open();
  const { profile } = session.settings;
  const problem = refuseName(profile.name);
  if (problem !== undefined)
    throw new GraphException('USAGE', `${profile.source} is not a name for a profile.`, { hint: problem });
  if (session.configDir !== undefined) requireRewritable(session.configDir, profile.name);
  if (!session.canPrompt) return session;
  const { askText } = await import('./output/prompt.js');
  if (profile.source === 'default' || profile.source === 'defaultProfile') {
    const options = { suggestion: profile.name, refuse: refuseName };
    const name = await askText(invocation, 'Name of the profile', options);
    // The profile that is in force anyway is not passed as a choice, because TG_* variables do not count for a chosen
    // profile.
    if (name !== profile.name) {
      answers.profile = name;
      session = await open();
    }
  }
  const { all } = session.settings;
  if (!all.host.some(({ level }) => level !== 'default') && !all.gsqlUrl[0]) {
    const options = { suggestion: 'http://127.0.0.1', refuse: refuseHost };
    Object.assign(answers, addressOf(await askText(invocation, 'Host, as a URL', options)));
    session = await open();
  }
  // The version is asked for without a credential. If the server cannot be reached, the login ends before a password is
  // typed.
  const { secretsNeedGraph } = await findVersion(session);
  if (answers['gsql-url'] !== undefined && (await hasRestPort(session))) {
    const options = { suggestion: '9000', refuse: refusePort };
    answers['rest-port'] = await askText(invocation, 'Port of the REST server', options);
  }
  if (session.graph === undefined) {
    const question = secretsNeedGraph ? 'Graph' : 'Graph (Enter for none)';
    answers.graph = await askText(invocation, question, { optional: !secretsNeedGraph });
  }
  if (session.username === undefined) answers.username = await askUsername(session);
  // The version is not asked for again, and the time that was used stays used.
  return { ...(await open()), learned: session.learned };
}

/** Whether the REST server has its own port and that port is not set. */
async function hasRestPort(session: Session): Promise<boolean> {
  const { all } = session.settings;
  if (all.restUrl[0] || all.restPort.some(({ level }) => level !== 'default')) return false;
  const { gsqlUrl, restUrl } = await serversInForce(session);
  return !restUrl.startsWith(`${gsqlUrl}/`);
}

function refuseName(text: string): string | undefined {
  return isProfileName(text)
    ? undefined
    : 'Begin with a letter, a digit or _, then letters, digits, _, . and -, 64 characters at most.';
}

function refusePort(text: string): string | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
    ? undefined
    : 'A port is a whole number from 1 to 65535.';
}

function refuseHost(text: string): string | undefined {
  if (/^https?:\/\/(\[[\da-f:.]+\]|[^/:@\s?#]+)(:\d{1,5})?(\/[\w./-]*)?$/i.test(text)) return undefined;
  const name = text.replace(/^(?:[a-z]+:|https?)\/+(?:[^/]*@)?/i, '').replace(/[:/].*$/, '');
  return `Write it with http:// or https://, for example https://${/^[\w.-]+$/.test(name) ? name : 'graph.example.com'}`;
}

/**
 * Reads an address. A URL with a port or a path is that of the GSQL server, unless it has the usual port of the REST
 * server.
 */
function addressOf(text: string): Readonly<Record<string, string>> {
  const [, host = text, port, path = ''] =
    /^(.+?)(?::(\d{1,5}))?(\/.*)?$/.exec(text.replace(/^https?:\/\//i, '')) ?? [];
  const base = `${text.slice(0, text.indexOf('//'))}//${host}`;
  if (port === '9000') return { host: base, 'rest-port': port };
  return port === undefined && path.replace('/', '') === '' ? { host: base } : { 'gsql-url': text };
}
