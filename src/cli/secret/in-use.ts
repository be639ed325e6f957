import fs from 'node:fs';
import path from 'node:path';
import { loadUserConfig } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import type { Sensitive } from '../../core/sensitive.js';
import { fromFile } from '../../credentials/readers.js';
import { listEntries } from '../../store/records.js';
import type { StoreRecord } from '../../store/store.js';
import { secretsInSettings } from '../session/credential.js';
import { open } from '../session/store.js';
import type { Session } from '../session/types.js';
import type { Login } from './prepare.js';

/** What tells that a secret which the server lists is one that this machine uses. */
export interface InUse {
  readonly aliases: ReadonlySet<string>;
  readonly masks: ReadonlySet<string>;
}

const SECRET_RECORD = /^secret-[0-9a-f]{28}\.json$/;

/**
 * Every secret that this machine uses, wherever it knows it from.
 * @throws GraphException STORE_UNAVAILABLE when it cannot be told which one a saved secret is
 */
export async function secretsInUse({ session, credential }: Login): Promise<InUse> {
  const aliases = new Set<string>();
  const masks = new Set<string>();
  const add = (value: Sensitive | undefined) => {
    if (value !== undefined) masks.add(maskSecret(value.reveal()));
  };
  if (credential.kind === 'secret') add(await credential.value());
  for (const source of secretsInSettings(session)) {
    // Standard input is read once.
    if (source.label !== credential.label) add(await source.read());
  }
  for (const value of otherLiterals(session)) masks.add(maskSecret(value));
  for (const file of await otherFiles(session)) add(await fromFile(file, file, session.timeoutMs));
  await addSaved(session, aliases, add);
  return { aliases, masks };
}

/** Variables that do not count in this call, and the literals of every profile. */
function otherLiterals({ settings, call }: Session): string[] {
  const { TG_SECRET, GRAPHCRED_SECRET } = call.ctx.env;
  const { defaults, profiles } = settings.file?.config ?? { defaults: {}, profiles: new Map() };
  const written = [defaults, ...profiles.values()].map(({ secret }) => secret);
  return [TG_SECRET, GRAPHCRED_SECRET, ...written].filter((one) => typeof one === 'string' && one !== '');
}

/** The files that profiles name, also those of the user's own config file while another one is in force. */
async function otherFiles(session: Session): Promise<string[]> {
  const { settings, call, configDir } = session;
  const { ctx, flags } = call;
  const own = await loadUserConfig({ ...ctx, flags, configDir }).catch(() => undefined);
  return [settings.file, own].flatMap((file) => {
    if (file === undefined) return [];
    const { defaults, profiles } = file.config;
    return [defaults, ...profiles.values()].flatMap(({ secretFile }) => {
      if (typeof secretFile !== 'string') return [];
      const name = secretFile.startsWith('~/') ? path.join(ctx.home ?? '', secretFile.slice(2)) : secretFile;
      return [path.resolve(path.dirname(file.path), name)];
    });
  });
}

/** What any store keeps, for whatever server: the same one may go by another name. */
async function addSaved(
  session: Session,
  aliases: Set<string>,
  add: (value: Sensitive | undefined) => void,
): Promise<void> {
  const { stateDir } = session;
  if (stateDir === undefined) return;
  const believed = listEntries(stateDir, () => {}).filter(({ record }) => record.kind === 'secret');
  for (const { record } of believed) {
    const alias = knownAlias(record.info);
    if (alias !== undefined) aliases.add(alias);
    const value = await readSaved(session, record).catch(() => undefined);
    if (value !== undefined) add(value);
    else if (alias === undefined)
      throw cannotTell('a saved secret cannot be read, and its alias is not known');
  }
  // A record that does not count, for its mode for example, is somebody's all the same.
  for (const name of recordFiles(stateDir)) {
    const info = readInfo(path.join(stateDir, name));
    const alias = info && knownAlias(info);
    if (alias !== undefined) aliases.add(alias);
    else if (!isBelieved(believed, info))
      throw cannotTell(`${path.join(stateDir, name)} cannot be read, and its alias is not known`);
  }
}

async function readSaved(session: Session, record: StoreRecord): Promise<Sensitive | undefined> {
  return (await open(session, record.store, true)).read(record);
}

/** `login` is the name that earlier versions gave to a secret whose alias they did not know. */
function knownAlias({ alias, aliasIsUnknown }: StoreRecord['info']): string | undefined {
  return typeof alias === 'string' && !aliasIsUnknown && alias !== 'login' ? alias : undefined;
}

function isBelieved(
  believed: readonly { readonly record: StoreRecord }[],
  info: StoreRecord['info'] | undefined,
): boolean {
  const text = JSON.stringify(info);
  return believed.some(({ record }) => JSON.stringify(record.info) === text);
}

function recordFiles(stateDir: string): string[] {
  try {
    return fs.readdirSync(stateDir).filter((name) => SECRET_RECORD.test(name));
  } catch {
    return [];
  }
}

function readInfo(file: string): StoreRecord['info'] | undefined {
  try {
    const { info, key } = JSON.parse(fs.readFileSync(file, 'utf8'));
    // A trial entry that stayed behind is nobody's.
    if (String(key).startsWith('trial entry ')) return { alias: '' };
    return typeof info === 'object' && info !== null ? info : undefined;
  } catch {
    return undefined;
  }
}

function cannotTell(why: string): GraphException {
  return new GraphException(
    'STORE_UNAVAILABLE',
    `Nothing was dropped: ${why}, so it could be one of these.`,
    {
      hint: 'unlock the store, or forget what is saved here: graphcred logout',
    },
  );
}
