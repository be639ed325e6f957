import { isUnread, savedCredential } from '../../auth/choose.js';
import { expected, GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { MADE_HERE, type Sensitive } from '../../core/sensitive.js';
import { aliasOf, boundToRecord, ownerOf } from '../../store/ownership.js';
import { STORES } from '../../store/store.js';
import { type Login, openLogin } from '../gsql-login.js';
import { type Listed, savedAs, savedForServer } from './saved-secrets.js';

/** Finds where a rotation stands: if an earlier run has dropped the secret that logs in, with the value it saved last. */
export async function findRotation(login: Login, alias: string, next: string) {
  const { run, version, credential } = login;
  const refused = await readRotation(login, alias, next).catch(expected);
  if (!(refused instanceof GraphException)) return { login, rotation: refused };
  const mayBeDropped = refused.code === 'AUTH_FAILED' && credential.kind === 'secret' && version.secretLogsIn;
  const [begun] = (mayBeDropped ? await savedForServer(login) : [])
    .filter(({ record: { info } }) => info.rotationOf === alias && info.unfinished !== 'write')
    .filter(({ record }) => ownerOf(record) === credential.owner);
  if (begun === undefined) throw refused;
  const resumed = await openLogin(run, await savedCredential(run, begun));
  const rotation = await readRotation(resumed, alias, next).catch((error) => {
    throw isUnread(expected(error)) ? refused : error;
  });
  return { login: resumed, rotation };
}

export type Rotation = Awaited<ReturnType<typeof readRotation>>;

/**
 * Finds out where a rotation stands. `begun` and `renewed` are the values of `next` and of the alias that an earlier run has
 * made. `origin` is the id by which profiles name the secret; undefined when the old value was not saved here.
 */
async function readRotation(login: Login, alias: string, next: string) {
  const listed = await login.connection.listSecrets();
  const present = listed.find((one) => one.alias === alias);
  const other = listed.find((one) => one.alias === next);
  const begun = await savedInRotation(login, alias, other ?? { alias: next });
  if (begun) {
    const { replaces: masked = '', origin } = begun.record.info;
    const renewed = present?.masked === masked ? undefined : await savedInRotation(login, alias, present);
    // Without it in the list, the last step has been carried out, or another machine has dropped it before.
    if (other || renewed)
      return { old: { alias, masked }, next, origin, begun: begun.value, renewed: renewed?.value };
  }
  if (other) {
    const why = `The rotation needs the name "${next}", but another secret has it.`;
    const when = `wait if "${alias}" is being rotated elsewhere; if "${alias}" exists and nobody uses "${next}"`;
    throw new GraphException('ALREADY_EXISTS', why, { hint: [when, { command: `secret drop ${next}` }] });
  }
  if (!present)
    throw new GraphException('NOT_FOUND', `No such secret: ${alias}.`, {
      hint: ['see the secrets', { command: 'secret list' }],
    });
  // A value with the mark of a rotation was to be deleted at its end.
  const saved = (await savedAs(login, [present])).find(({ record }) => record.info.rotationOf === undefined);
  const origin = saved && (saved.record.info.origin ?? saved.record.info.id);
  return { old: present, next, origin };
}

/** Finds the saved value of a secret that may be of this alias's rotation. The mask, where it is known, proves that it is this secret's. */
async function savedInRotation(login: Login, rotated: string, secret: Listed | undefined) {
  for (const { store, record } of await savedForServer(login)) {
    const { alias } = record.info;
    if (!secret || alias !== secret.alias || aliasOf(record) !== rotated) continue;
    const value = await store.get(record);
    // The keychain gets a value after its record, so a run that was killed in between leaves the record alone.
    if (value === undefined && secret.masked !== undefined && !STORES[store.name].canBeLocked)
      throw new GraphException(
        'STORE_UNAVAILABLE',
        `The saved value of "${alias}", from an unfinished rotation of "${rotated}", cannot be read.`,
        { hint: ['put the old store key back; if that is lost', { command: `secret drop ${alias}` }] },
      );
    if (!value || ![undefined, maskSecret(value.reveal())].includes(secret.masked)) continue;
    const bound: Sensitive = boundToRecord(record, value, `"${alias}" ${MADE_HERE}`);
    return { record, value: bound };
  }
  return undefined;
}
