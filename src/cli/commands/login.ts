import { settingText } from '../../config/settings.js';
import { writeProfile } from '../../config/write.js';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Credential } from '../../credentials/resolve.js';
import type { StoreName } from '../../store/store.js';
import { checkAlias } from '../alias.js';
import type { Call } from '../call.js';
import { type Connected, connect, secretOf } from '../connect.js';
import { findCredential } from '../credential.js';
import { askText, mayAsk } from '../prompt.js';
import { saveSecret } from '../saved.js';
import { openSession, requireGraph, type Session } from '../session.js';
import { chooseStore, moveTo, recordStore } from '../stores.js';

/** `graphcred login` */
export async function run(call: Call): Promise<undefined> {
  const { report } = call;
  const session = await completed(call);
  const { store } = await chooseStore(session, { needed: true });
  const credential = await findCredential(session, 'mint', async () => store);
  const connected = await connect(session, credential, store.name !== 'none');
  await prove(session, connected, credential);
  const file = writeProfile(session.configDir, session.settings.profile.name, profileOf(session, credential));
  const chosen = call.flags.store as StoreName | undefined;
  if (chosen !== undefined) {
    await moveTo(session, chosen);
    recordStore(session.configDir, chosen);
  }
  const saved = await offerSecret(session, connected, credential);
  const { name } = session.settings.profile;
  if (report.json) report.document({ profile: name, file, host: session.target.host, saved: saved ?? null });
  else
    report.result(
      `Logged in to ${session.target.host} as profile ${name} (${file}).${saved ? ` Secret ${saved} is kept.` : ''}`,
    );
  const inForce = session.settings.file?.path;
  if (inForce !== undefined && inForce !== file) report.warn(`${inForce} is nearer and hides ${file} here`);
}

/** Asks for what is missing, if somebody is there to ask. */
async function completed(call: Call): Promise<Session> {
  let flags = call.flags;
  const first = await openSession({ ...call, flags }, { newProfile: true });
  if (mayAsk(call.ctx, first.settings)) {
    const { settings } = first;
    if (flags.profile === undefined && settings.profile.source === 'default') {
      flags = { ...flags, profile: await askText('Name of the profile', 'default') };
    }
    if (!settings.all.host.some(({ level }) => level !== 'default') && !settings.all.gsqlUrl[0]) {
      flags = { ...flags, host: await askText('Host, as a URL', 'http://127.0.0.1') };
    }
    if (first.graph === undefined) flags = { ...flags, graph: await askText('Graph') };
    if (first.username === undefined) flags = { ...flags, username: await askText('User name') };
  }
  return openSession({ ...call, flags }, { newProfile: true });
}

/** A login that was never tried is worth nothing: the server must take the credential. */
async function prove(
  session: Session,
  { connection, version }: Connected,
  credential: Credential,
): Promise<void> {
  if (credential.kind === 'secret') {
    await connection.mintToken({ secret: await secretOf(credential), lifetime: 60 });
    return;
  }
  if (version.generation !== 'C') requireGraph(session);
  await connection.listSecrets();
}

function profileOf(
  { target, graph, settings }: Session,
  credential: Credential,
): Record<string, string | number> {
  const version = settingText(settings, 'serverVersion');
  const said = Object.entries(target.endpoints).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(said) as Record<string, string | number>),
    // Nobody said where: then it is this machine, and the profile shall say so.
    ...(target.endpoints.host === undefined &&
      target.endpoints.gsqlUrl === undefined && { host: target.host }),
    ...(graph !== undefined && { graph }),
    ...(credential.username !== undefined && { username: credential.username }),
    ...(version !== undefined && version !== 'auto' && { serverVersion: version }),
  };
}

/** Keeps a secret for the next time: the one that was given, or a new one if the person wants it. */
async function offerSecret(
  session: Session,
  { connection }: Connected,
  credential: Credential,
): Promise<string | undefined> {
  const { call } = session;
  const { store } = await chooseStore(session, { needed: true });
  if (store.name === 'none' || credential.level === 'store') return undefined;
  if (credential.kind === 'secret') {
    await saveSecret(session, store, {
      alias: 'login',
      username: credential.username,
      value: await credential.value(),
    });
    return 'login';
  }
  if (!mayAsk(call.ctx, session.settings)) {
    call.report.note('the password is not kept; to work without it: graphcred secret create NAME --save');
    return undefined;
  }
  const alias = await askText('Name of a secret to create and keep (- for none)', 'graphcred');
  if (alias === '-') return undefined;
  checkAlias(alias);
  const made = await connection.createSecret(alias);
  try {
    await saveSecret(session, store, { alias, username: credential.username, value: new Sensitive(made) });
  } catch (error) {
    call.report.result(made);
    if (!(error instanceof GraphException)) throw error;
    throw new GraphException(error.code, `The secret was made, but it could not be saved: ${error.message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
  }
  return alias;
}
