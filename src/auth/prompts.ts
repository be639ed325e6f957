import { ADDRESS_KEYS, type LeftOut } from '../config/keys.js';
import { describeLeftOut, namedBy, namesServer } from '../config/target.js';
import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import { graphOf, type Run, usernameOf } from '../run/run.js';
import { findVersion, hintWithoutServer, setButEmpty } from '../run/server.js';
import { type CredentialSource, emptyVariables, isSecretId, type Purpose } from './credential.js';
import { notLoggedIn, oidcOf } from './oidc/settings.js';

/** Returns a source that asks a person when the value is needed. @param unusable a credential that cannot log in at this server */
export async function promptSource(
  run: Run,
  purpose: Purpose,
  unusable: CredentialSource | undefined,
  { mayAsk, saysNotSaved }: { readonly mayAsk: boolean; readonly saysNotSaved: boolean },
): Promise<CredentialSource> {
  const { ports, settings } = run;
  const oidc = oidcOf(run);
  if (oidc && !unusable)
    throw notLoggedIn(run, `No login at the provider ${oidc.issuer} is saved for this database.`);
  const leftOut = leftOutLayer(run);
  if (!mayAsk && (leftOut?.credential || unusable?.kind === 'jwt' || usernameOf(run) === undefined))
    throw noCredential(run, purpose, unusable);
  if (leftOut && mayAsk) ports.reporter.note(describeLeftOut(leftOut, settings));
  if (usernameOf(run) === undefined && purpose === 'mint') await askNeededGraph(run);
  const username = usernameOf(run) ?? (await askUsername(run));
  return {
    kind: 'password',
    label: 'prompt',
    level: 'prompt',
    read: async () => {
      if (!mayAsk) throw noCredential(run, purpose, unusable);
      if (saysNotSaved && settings.secretAlias && !unusable)
        ports.reporter.note(`${notSaved(run, settings.secretAlias)}, so a password is asked for`);
      return askPassword(run, username);
    },
  };
}

function noCredential(run: Run, purpose: Purpose, unusable: CredentialSource | undefined): GraphException {
  const { target, settings, ports } = run;
  const { secretAlias } = settings;
  // Standard input has one value.
  const fromStdin = (kind: string) => (ports.stdin.holds ? '' : `--${kind}-stdin, `);
  const password = `${fromStdin('password')}--password-file or GRAPHCRED_PASSWORD`;
  const [what, how] =
    usernameOf(run) === undefined
      ? ['A user name', `give --username or GRAPHCRED_USERNAME, and a password: ${password}`]
      : ['A password', `give ${password}`];
  const leftOut = leftOutLayer(run);
  if (leftOut) return ofOtherServers(run, leftOut, what);
  if (unusable?.kind === 'jwt') {
    const message = `The GSQL server of this version does not accept a JWT (${unusable.label}); 4.1.2 and later do.`;
    const hint = 'log in with a password or a secret: --username and --password-stdin, or --secret-stdin';
    return new GraphException('UNSUPPORTED', message, { hint });
  }
  const missing = secretAlias !== undefined && !unusable && notSaved(run, secretAlias);
  const hasToken = settings.profile.source !== '--profile' && ports.env.TG_API_TOKEN;
  const mints = purpose === 'mint';
  const hints = [
    ...(namesServer(settings) ? [] : hintWithoutServer(run)),
    missing && 'check the name of the secret, or log in again',
    ...setButEmpty(emptyVariables(run)),
    `${missing ? 'or ' : ''}${how}`,
    mints && `or a secret: ${fromStdin('secret')}--secret-file, GRAPHCRED_SECRET or GRAPHCRED_SECRET_FILE`,
    unusable && `the secret (${unusable.label}) does not log in on a server before 3.6.2`,
    ...(hasToken && mints ? ['to use the token itself', { command: 'api /PATH' }] : []),
    mints &&
      settings.tokenLabel &&
      `a stored token of "${settings.tokenLabel}" must fit this graph and --lifetime, with --min-ttl left`,
  ];
  const why = ports.canPrompt ? '' : `, and ${ports.whyNotAsked}`;
  const cannot = mints ? 'get another token' : 'log in here';
  const token = hasToken && `A token (TG_API_TOKEN) cannot ${cannot}`;
  const needed = missing || `${ports.inCi || mints ? 'A credential' : what} is needed for ${target.gsqlUrl}`;
  const message = [token, `${needed}${why}.`].filter(Boolean).join('. ');
  return new GraphException('INPUT_REQUIRED', message, { hint: hints.flatMap((one) => one || []) });
}

/** Creates the error for a credential that is missing, because a layer is for other servers. @param what a person could give */
function ofOtherServers(run: Run, leftOut: LeftOut, what: string): GraphException {
  const { settings, target } = run;
  const { pair, source } = leftOut;
  const named = namedBy(settings);
  const correct = pair ? '' : `correct the address (${source}), or `;
  const add = pair?.gsqlUrl === target.gsqlUrl && !target.restUrl && `add --rest-url ${pair.restUrl}, or `;
  const typed = ADDRESS_KEYS.flatMap((key) => settings.all[key].filter(({ level }) => level === 'flag'));
  const labels = typed.map(({ label }) => label).join(' and ');
  const isNext = named?.level === 'flag' && settings.leftOut[0] === leftOut;
  const leave = isNext ? `${add || ''}leave ${labels} out, or ` : correct;
  const give = `${leave}give a credential for ${target.gsqlUrl}: --username with --password-stdin; or --secret-stdin, --jwt-stdin`;
  const hint = [give, ...setButEmpty(emptyVariables(run))];
  const message = `${describeLeftOut(leftOut, settings)}. ${what} is missing.`;
  return new GraphException('HOST_MISMATCH', message, { hint });
}

/** Creates the error for a password without a user name, which a layer that does not count may hold. */
export function withoutUser(run: Run, label: string): GraphException {
  const leftOut = leftOutLayer(run);
  if (leftOut) return ofOtherServers(run, leftOut, 'A user name');
  const message = `There is a password (${label}) but no user name.`;
  return new GraphException('INPUT_REQUIRED', message, { hint: 'give --username or GRAPHCRED_USERNAME' });
}

function notSaved({ stores }: Run, secretAlias: string): string {
  const what = isSecretId(secretAlias) ? 'The secret of the profile is not' : `No secret "${secretAlias}" is`;
  return `${what} saved in the ${stores.inForce.name} store for this server, user and graph`;
}

function leftOutLayer({ settings: { leftOut } }: Run): LeftOut | undefined {
  return leftOut.find(({ credential }) => credential) ?? leftOut[0];
}

/** Asks for the graph if none is set and the server needs one, as 3.x does. The run must be able to prompt. */
export async function askNeededGraph(run: Run): Promise<void> {
  if (graphOf(run) === undefined && (await findVersion(run)).secretsNeedGraph) await askGraph(run);
}

export async function askGraph(run: Run): Promise<void> {
  const isOptional = !(await findVersion(run)).secretsNeedGraph;
  const refuse = (text: string) =>
    /^[A-Za-z_]\w*$/.test(text)
      ? undefined
      : 'The name of a graph has letters, digits and _, and begins with no digit.';
  const question = isOptional ? 'Graph (Enter for none)' : 'Graph';
  const answer = await run.ports.prompter.text(question, { optional: isOptional, refuse });
  run.asked.graph = answer || undefined;
}

/** Asks for the password of a user at the server in force. @param ifEmpty what Enter alone means, if it is an answer */
export function askPassword({ ports, target }: Run, username: string, ifEmpty?: string): Promise<Sensitive> {
  const note = ifEmpty === undefined ? '' : ` (empty: ${ifEmpty})`;
  const question = `Password of ${username} at ${target.gsqlUrl}${note}`;
  return ports.prompter.hidden(question, { optional: ifEmpty !== undefined });
}

/** Asks for the user name at the server in force. Enter keeps one that was typed before. */
export async function askUsername(run: Run): Promise<string> {
  const { asked, ports, target } = run;
  const question = `User name at ${target.gsqlUrl}`;
  asked.username = await ports.prompter.text(question, { suggestion: asked.username });
  return asked.username;
}
