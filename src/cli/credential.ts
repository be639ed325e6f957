import { isInFile, type Level } from '../config/level.js';
import type { ConfigKey } from '../config/schema.js';
import type { SourcedValue } from '../config/settings.js';
import { Sensitive } from '../core/sensitive.js';
import {
  type Credential,
  type CredentialSource,
  type Purpose,
  resolveCredential,
} from '../credentials/resolve.js';
import type { Store } from '../store/store.js';
import type { Session } from './session.js';

const LEVELS: readonly Level[] = ['flag', 'variable', 'field', 'profile', 'top'];
const KINDS = ['secret', 'password'] as const;

/**
 * The credential this call uses, by the contract's order: flags, variables, profile, store, prompt. Nothing is
 * asked and no program is run before its value is needed.
 * @param openStore gives the store that may hold a saved secret; called only when nothing nearer has one
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH, CONFIG_UNTRUSTED, USAGE
 */
export async function findCredential(
  session: Session,
  purpose: Purpose,
  openStore: () => Promise<Store>,
): Promise<Credential> {
  const { target, username } = session;
  const said = usable(saidSources(session), purpose, session);
  const isElsewhere = (source: CredentialSource) =>
    isInFile(source.level) ? target.rerouted : source.level === 'field' && target.awayFromFields;
  const bound = said.filter((source) => !isElsewhere(source));
  const excluded = said.find(isElsewhere);
  // A saved secret is asked for only when nothing nearer answers: opening the store may cost a prompt.
  const sources =
    bound.length > 0
      ? bound
      : usable(
          (await import('./saved-sources.js')).savedSources(session, await openStore()),
          purpose,
          session,
        );
  const credential =
    (await resolveCredential(sources, purpose, username)) ??
    (await (await import('./credential-prompt.js')).promptedCredential(session, purpose, excluded));
  await refuseUntrusted(session, credential);
  return credential;
}

/** Whether the config file in force brings the credential that this call would use. Reads none. */
export function fileBringsCredential(session: Session, purpose: Purpose): boolean {
  return usable(saidSources(session), purpose, session)[0]?.literal ?? false;
}

/** A login is a password; a secret only where there is no password anywhere and the server may be a 4.x. */
function usable(sources: CredentialSource[], purpose: Purpose, { settings }: Session): CredentialSource[] {
  if (purpose === 'mint') return sources;
  const passwords = sources.filter(({ kind }) => kind === 'password');
  const is3 = String(settings.all.serverVersion[0]?.value).startsWith('3');
  return passwords.length > 0 || is3 ? passwords : sources;
}

function saidSources(session: Session): CredentialSource[] {
  const { call, settings } = session;
  const { flags, ctx } = call;
  const sources: CredentialSource[] = [];
  for (const level of LEVELS) {
    for (const kind of KINDS) {
      if (level === 'flag' && flags[`${kind}-stdin`] === true) {
        const label = `--${kind}-stdin`;
        const read = async () => (await import('../credentials/sources.js')).fromStdin(ctx.stdin.read, label);
        sources.push({ kind, level, label, read });
      }
      for (const form of ['', 'File', 'Command'] as const) {
        const key = `${kind}${form}` as ConfigKey;
        const value = settings.all[key].find((one) => one.level === level);
        if (value) sources.push(sourceOf(session, kind, form, key, value));
      }
    }
  }
  return sources;
}

function sourceOf(
  session: Session,
  kind: 'secret' | 'password',
  form: '' | 'File' | 'Command',
  key: ConfigKey,
  said: SourcedValue,
): CredentialSource {
  const inFile = isInFile(said.level);
  const label = inFile ? `${said.source}: ${key}` : said.source;
  const base = { kind, level: said.level, label };
  if (form === '') return { ...base, literal: inFile, read: async () => new Sensitive(said.value as string) };
  return {
    ...base,
    ...(form === 'Command' && { reference: `command:${(said.value as readonly string[]).join(' ')}` }),
    read: async () => (await import('./read-elsewhere.js')).readElsewhere(session, said, label),
  };
}

/**
 * Settings of a file nobody vouched for count only together with a credential that the same file brings.
 * @param credential what is about to be sent; a token from elsewhere is `{ literal: false }`
 * @throws GraphException CONFIG_UNTRUSTED
 */
export async function refuseUntrusted(
  session: Session,
  credential: Pick<Credential, 'literal'>,
): Promise<void> {
  const { settings } = session;
  if (credential.literal) return;
  const keys = (Object.keys(settings.all) as ConfigKey[]).filter((key) => settings.all[key][0]?.untrusted);
  if (keys.length > 0) await (await import('./ask-trust.js')).askTrust(session, keys);
}
