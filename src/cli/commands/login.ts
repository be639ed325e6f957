import { settingText } from '../../config/settings.js';
import { type ProfileToWrite, writeProfile } from '../../config/write.js';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Credential } from '../../credentials/resolve.js';
import type { Store, StoreName } from '../../store/store.js';
import { isPlainAlias } from '../alias.js';
import type { Call } from '../call.js';
import { type Connected, connect, secretOf, tlsFile } from '../connect.js';
import { findCredential } from '../credential.js';
import { mayAsk } from '../may-ask.js';
import { askChoice, askText } from '../prompt.js';
import { requireGraph } from '../require.js';
import { saveSecret, tryStore } from '../saved.js';
import { openSession, type Session } from '../session.js';
import { moveTo, recordStore } from '../store-change.js';
import { chooseStore, open } from '../stores.js';

/** `graphcred login` */
export async function run(call: Call): Promise<undefined> {
  const { report } = call;
  const session = await completed(call);
  const { store: first } = await chooseStore(session, { needed: true });
  const credential = await findCredential(session, 'mint', async () => first);
  const connected = await connect(session, credential, first.name !== 'none');
  const taken = await prove(session, connected, credential);
  // Every question comes before anything is written: whoever stops at one leaves no trace.
  const { store, instead } = await usableStore(session, credential, first);
  const alias = await aliasToKeep(session, credential, store, taken);
  const { name } = session.settings.profile;
  const file = writeProfile(session.configDir, name, profileOf(session, credential));
  const chosen = call.flags.store as StoreName | undefined;
  if (chosen !== undefined) await moveTo(session, chosen);
  const record = instead ?? chosen;
  if (record !== undefined) recordStore(session.configDir, record);
  const { failure, lost } =
    alias === undefined ? {} : await keep(session, connected, credential, store, alias);
  const saved = failure === undefined ? alias : undefined;
  const { host } = session.target;
  if (report.json)
    report.document({ profile: name, file, host, saved: saved ?? null, ...(lost && { secret: lost }) });
  else {
    if (lost) {
      report.note(`secret ${alias}: this is the only time its value is shown`);
      report.result(lost);
    }
    report.result(
      `Logged in to ${host} as profile ${name} (${file}).${saved ? ` Secret ${saved} is kept.` : ''}`,
    );
  }
  const inForce = session.settings.file?.path;
  if (inForce !== undefined && inForce !== file) report.warn(`${inForce} is nearer and hides ${file} here`);
  if (failure) throw failure;
}

/** Asks for what is missing, if somebody is there to ask. */
async function completed(call: Call): Promise<Session> {
  let flags = call.flags;
  const first = await openSession({ ...call, flags }, { newProfile: true });
  if (mayAsk(call.ctx, first.settings)) {
    const { settings } = first;
    if (flags.profile === undefined && settings.profile.source === 'default') {
      flags = { ...flags, profile: await askText(call, 'Name of the profile', { suggestion: 'default' }) };
    }
    if (!settings.all.host.some(({ level }) => level !== 'default') && !settings.all.gsqlUrl[0]) {
      const host = { suggestion: 'http://127.0.0.1', refuse: refuseHost };
      flags = { ...flags, host: await askText(call, 'Host, as a URL', host) };
    }
    if (first.graph === undefined) flags = { ...flags, graph: await askText(call, 'Graph') };
    if (first.username === undefined) flags = { ...flags, username: await askText(call, 'User name') };
  }
  return openSession({ ...call, flags }, { newProfile: true });
}

function refuseHost(text: string): string | undefined {
  if (/^https?:\/\/(\[[\da-f:.]+\]|[^/:@\s]+)\/?$/.test(text)) return undefined;
  const name = text.replace(/^[a-z]+:\/+/i, '').replace(/[:/].*$/, '');
  return `Write it with http:// or https:// and without a port, for example https://${/^[\w.-]+$/.test(name) ? name : 'graph.example.com'}`;
}

/**
 * A login that was never tried is worth nothing: the server must take the credential.
 * @returns the aliases that are taken, as far as they are known
 */
async function prove(
  session: Session,
  { connection, version }: Connected,
  credential: Credential,
): Promise<ReadonlySet<string>> {
  if (credential.kind === 'secret') {
    await connection.mintToken({ secret: await secretOf(credential), lifetime: 60 });
    return new Set();
  }
  if (version.generation !== 'C') requireGraph(session);
  return new Set((await connection.listSecrets()).map(({ alias }) => alias));
}

function profileOf(session: Session, credential: Credential): ProfileToWrite {
  const { target, graph, settings } = session;
  const tls = (['ca', 'cert', 'key'] as const).flatMap((name) => {
    const file = tlsFile(session, `tls.${name}`);
    return file === undefined ? [] : [[name, file]];
  });
  const lives = (['lifetime', 'minTtl'] as const).flatMap((key) => {
    const said = settings.all[key][0];
    return said && said.level !== 'default' && said.level !== 'top' ? [[key, said.value]] : [];
  });
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
    ...(Object.fromEntries(lives) as Record<string, string>),
    ...(tls.length > 0 && { tls: Object.fromEntries(tls) as Record<string, string> }),
  };
}

/** The store, tried out if something is to be kept. One that cannot be used is a question, where there is somebody to ask. */
async function usableStore(
  session: Session,
  credential: Credential,
  store: Store,
): Promise<{ store: Store; instead?: StoreName }> {
  const { call, settings } = session;
  const ask = mayAsk(call.ctx, settings);
  const keeps =
    store.name !== 'none' && credential.level !== 'store' && (ask || credential.kind === 'secret');
  if (!keeps) return { store };
  try {
    await tryStore(session, store);
    return { store };
  } catch (error) {
    if (!(error instanceof GraphException) || !ask || settings.all.store[0] !== undefined) throw error;
    call.report.warn(error.message);
    const instead = await askChoice<StoreName>(call, 'Where to keep secrets and tokens instead', [
      { name: 'in encrypted files, the key beside them', value: 'file' },
      { name: 'nowhere: every command asks the server anew', value: 'none' },
    ]);
    return { store: await open(session, instead, true), instead };
  }
}

/** The name under which a secret is kept for the next time: the one that was given, or a new one if the person wants it. */
async function aliasToKeep(
  { call, settings }: Session,
  credential: Credential,
  store: Store,
  taken: ReadonlySet<string>,
): Promise<string | undefined> {
  if (store.name === 'none' || credential.level === 'store') return undefined;
  if (credential.kind === 'secret') return 'login';
  if (!mayAsk(call.ctx, settings)) {
    call.report.note('the password is not kept; to work without it: graphcred secret create NAME --save');
    return undefined;
  }
  let suggestion = 'graphcred';
  for (let n = 2; taken.has(suggestion); n++) suggestion = `graphcred_${n}`;
  const refuse = (text: string) => {
    if (text === '-') return undefined;
    if (taken.has(text)) return 'There is a secret of this name already.';
    return isPlainAlias(text) ? undefined : 'Begin with a letter or _, then letters, digits and _.';
  };
  const alias = await askText(call, 'Name of a secret to create and keep (- for none)', {
    suggestion,
    refuse,
  });
  return alias === '-' ? undefined : alias;
}

/** @returns why no secret is kept, if none is: the profile stands all the same; and the value that found no place */
async function keep(
  session: Session,
  { connection }: Connected,
  credential: Credential,
  store: Store,
  alias: string,
): Promise<{ failure?: GraphException; lost?: string }> {
  let made: string | undefined;
  try {
    const own = credential.kind === 'secret' ? await credential.value() : undefined;
    // What went before is long ago: a person was asked in between. A secret made too late would be lost.
    session.timeLeft.ms = session.timeoutMs;
    if (!own) made = await connection.createSecret(alias);
    const value = own ?? new Sensitive(made ?? '');
    await saveSecret(session, store, { alias, username: credential.username, value });
    return {};
  } catch (error) {
    if (!(error instanceof GraphException)) {
      if (made !== undefined) session.call.report.result(made);
      throw error;
    }
    const { code, message, hint } = error;
    if (made === undefined) {
      const what = `You are logged in, but no secret is kept: ${message}`;
      return { failure: new GraphException(code, what, hint === undefined ? {} : { hint }) };
    }
    const failure = new GraphException(code, `The secret was made, but it could not be saved: ${message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
    return { failure, lost: made };
  }
}
