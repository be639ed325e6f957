import path from 'node:path';
import type { ConfigKey } from '../config/schema.js';
import type { Level, SourcedValue } from '../config/settings.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import {
  type Credential,
  type CredentialSource,
  type Purpose,
  resolveCredential,
} from '../credentials/resolve.js';
import type { Store, StoreRecord } from '../store/store.js';
import { withoutCredentials } from './context.js';
import { mayAsk } from './may-ask.js';
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
  const inFile = (source: CredentialSource) => source.level === 'profile' || source.level === 'top';
  const isElsewhere = (source: CredentialSource) =>
    inFile(source) ? target.rerouted : source.level === 'field' && target.awayFromFields;
  const bound = said.filter((source) => !isElsewhere(source));
  const excluded = said.find(isElsewhere);
  // A saved secret is asked for only when nothing nearer answers: opening the store may cost a prompt.
  const sources = bound.length > 0 ? bound : savedSources(session, purpose, await openStore());
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

function savedSources(session: Session, purpose: Purpose, store: Store): CredentialSource[] {
  const fits = ({ kind, info }: StoreRecord) =>
    (kind === 'secret' || kind === 'password') &&
    info.gsqlUrl === session.target.gsqlUrl &&
    (session.username === undefined || info.username === session.username) &&
    (info.graph === null || session.graph === undefined || info.graph === session.graph);
  const kept = store.list().filter(fits);
  // The one saved last is the one meant; on equal times the order must still be the same in every process.
  kept.sort((a, b) => b.createdAtUnix - a.createdAtUnix || (a.key < b.key ? -1 : 1));
  const sources = kept.map(
    (record): CredentialSource => ({
      kind: record.kind as 'secret' | 'password',
      level: 'store',
      label: `saved ${record.kind} ${record.info.alias ?? ''}`.trim(),
      username: String(record.info.username),
      ...(record.kind === 'secret' && { reference: `saved:${record.info.username}/${record.info.alias}` }),
      read: async () => {
        const value = await store.read(record);
        if (value !== undefined) return value;
        throw new GraphException(
          'NOT_FOUND',
          `The saved ${record.kind} is no longer in the ${store.name} store.`,
          {
            hint: 'save it again: graphcred secret create NAME --save',
          },
        );
      },
    }),
  );
  return usable(sources, purpose, session);
}

function sourceOf(
  session: Session,
  kind: 'secret' | 'password',
  form: '' | 'File' | 'Command',
  key: ConfigKey,
  said: SourcedValue,
): CredentialSource {
  const { ctx } = session.call;
  const inFile = said.level === 'profile' || said.level === 'top';
  const label = inFile ? `${said.source}: ${key}` : said.source;
  const base = { kind, level: said.level, label };
  const file = session.settings.file?.path;
  // A path in a config file is meant from where that file is.
  const cwd = inFile && file !== undefined ? path.dirname(file) : ctx.cwd;
  switch (form) {
    case '':
      return { ...base, literal: inFile, read: async () => new Sensitive(said.value as string) };
    case 'File':
      return {
        ...base,
        read: async () =>
          (await import('../credentials/sources.js')).fromFile(
            path.resolve(cwd, expand(said.value as string, ctx.home)),
            label,
          ),
      };
    case 'Command': {
      const command = said.value as readonly string[];
      return {
        ...base,
        reference: `command:${command.join(' ')}`,
        read: async () =>
          (await import('../credentials/sources.js')).fromCommand(command, label, {
            cwd: ctx.cwd,
            env: withoutCredentials(ctx.env),
            say: session.call.report.note,
          }),
      };
    }
  }
}

function expand(file: string, home: string): string {
  return file.startsWith('~/') ? path.join(home, file.slice(2)) : file;
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
  const { settings, target, call } = session;
  if (credential.literal) return;
  const keys = (Object.keys(settings.all) as ConfigKey[]).filter((key) => settings.all[key][0]?.untrusted);
  if (keys.length === 0) return;
  const what = `${settings.file?.path} is not trusted, and it decides ${keys.join(', ')} (host: ${target.host}).`;
  if (mayAsk(call.ctx, settings)) {
    call.report.warn(what);
    const { askYes } = await import('./prompt.js');
    if (await askYes(call, 'Use it for this call?')) return;
  }
  throw new GraphException('CONFIG_UNTRUSTED', what, {
    hint: `read the file; if it is yours: graphcred config trust ${settings.file?.path}`,
  });
}
