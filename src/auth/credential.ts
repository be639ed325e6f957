import { type ConfigKey, CREDENTIAL_KEYS, type Level, PRECEDENCE, SETTINGS } from '../config/keys.js';
import { SAVED_HERE, Sensitive } from '../core/sensitive.js';
import { once } from '../run/once.js';
import { pathOf } from '../run/ports.js';
import type { Run } from '../run/run.js';
import { aliasOf, boundToRecord, ownerOf } from '../store/ownership.js';
import type { CredentialRecord, SecretRecord } from '../store/store.js';
import { oidcOf, providerPrincipal } from './oidc/settings.js';

/** A JWT of an identity provider is a token as it is; a secret and a password mint one. */
export type CredentialKind = 'jwt' | 'secret' | 'password';

export interface CredentialSource {
  readonly kind: CredentialKind;
  readonly level: Level | 'store' | 'prompt';
  /** Where the credential was set, for messages: `--password-stdin`, `GRAPHCRED_SECRET`, `secretCommand of profile prod`. */
  readonly label: string;
  /** Identifies the value without reading it, where reading is slow: the words of the command, the id of the saved secret. */
  readonly reference?: string | undefined;
  /** That of a saved credential, which belongs to the pair and the user there. Any other belongs to the pair in force. */
  readonly record?: CredentialRecord;
  read(): Promise<Sensitive>;
}

export interface TokenOwner {
  /**
   * Part of a token's identity: `user:NAME`, `secret:FINGERPRINT`, the command or provider that gives the credential, or
   * the label in place of these. Never holds the value of a credential or enough of its hash to guess it.
   */
  readonly principal: string;
  readonly username?: string | undefined;
  /** Under what credentials are saved together: the user name; where that is not known, what stands for the user. */
  readonly owner: string;
}

/** The credential of this run. Its value is read once: when something is about to be sent, or to tell whose it is. */
export interface Credential extends CredentialSource, TokenOwner {}

/** Whether it is itself the token of the run: a JWT whose value is at hand. That of a program or a provider is cached. */
export function isTokenItself(of: TokenOwner | Credential): of is Credential {
  return 'kind' in of && of.kind === 'jwt' && of.reference === undefined;
}

/** What a credential is for, and which kind of it is preferred of several that are set at one place. */
const PREFERRED = {
  mint: ['jwt', 'secret', 'password'],
  login: ['password', 'jwt', 'secret'],
} as const;

export type Purpose = keyof typeof PREFERRED;

export function ownerInfo({ username, owner }: TokenOwner): Record<string, string> {
  return username === undefined ? { owner } : { username };
}

/** A secret's id: 48 bits of its hash, enough to tell a person's secrets apart, too few to guess one from. */
export function secretId(secret: Sensitive): string {
  return `secret:${fingerprint(secret)}`;
}

/** Whether what names a secret in a profile or a record is its id, not its alias. */
export function isSecretId(name: string): boolean {
  return name.startsWith('secret:');
}

export function fingerprint(value: Sensitive): string {
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(value.reveal()).digest('hex').slice(0, 12);
}

/** Loaded for a credential whose value is needed, which is not so while its token is cached. */
const reading = () => import('../run/read.js');

/** Returns the credentials that flags, variables and the config file set, highest priority first. */
export function sourcesInSettings(run: Run): CredentialSource[] {
  return PRECEDENCE.flatMap((level) => PREFERRED.mint.flatMap((kind) => sourcesSetAt(run, level, kind)));
}

/** Names the variables of credentials that are set and empty, as in a CI job whose secret is not configured. */
export function emptyVariables({ ports: { env } }: Run): string[] {
  const names = CREDENTIAL_KEYS.flatMap((key) => [
    SETTINGS[key].variable ?? '',
    SETTINGS[key].tgVariable ?? '',
  ]);
  return [...names, 'TG_API_TOKEN'].filter((name) => env[name] === '');
}

function sourcesSetAt(run: Run, level: Level, kind: CredentialKind): CredentialSource[] {
  const { ports, settings } = run;
  const oidc = kind === 'jwt' ? oidcOf(run) : undefined;
  const sources: CredentialSource[] = [];
  const add = (label: string, read: CredentialSource['read'], reference?: string) =>
    sources.push({ kind, level, label, read, reference });
  const find = (key: ConfigKey) => settings.all[key].find((one) => one.level === level);
  if (level === 'flag' && ports.stdin.holds === kind)
    add(`--${kind}-stdin`, async () => (await reading()).fromStdin(run));
  const literal = find(kind);
  if (literal) add(literal.label, async () => new Sensitive(String(literal.value)));
  const file = find(`${kind}File`);
  if (file) add(file.label, async () => (await reading()).fromFile(run, file));
  const program = find(`${kind}Command`);
  if (program) {
    const [name = '', ...args] = program.value as readonly string[];
    // A relative path is looked for beside the config file, never in the working directory.
    const command = [/[/\\]/.test(name) ? pathOf(run, { value: name, level }) : name, ...args];
    // JSON is used, so that two commands that differ only in where their words are split are two principals.
    const reference = `command:${JSON.stringify(command)}`;
    const ask = async () => (await reading()).fromCommand(command, program.label, ports);
    add(program.label, () => run.asked.answer(reference, ask), reference);
  }
  // A job gets JWTs of an identity provider in its own name.
  if (oidc?.isJob && oidc.level === level) {
    const read = async () => (await import('./oidc/provider.js')).jobToken(run, oidc);
    add(`client ${oidc.clientId} at ${oidc.issuer}`, read, providerPrincipal(oidc));
  }
  return sources;
}

/** Returns what names a saved secret in a profile: its alias, or the rotated one, if its user is known, else its id. */
export function nameInProfile(record: SecretRecord): string {
  const { username, id, origin = id } = record.info;
  return (username !== undefined && aliasOf(record)) || origin;
}

/** Takes the highest level that has a credential, of at least one, and picks there the kind that the purpose prefers. */
export async function resolveCredential(
  sources: readonly CredentialSource[],
  purpose: Purpose,
  username: string | undefined,
): Promise<Credential> {
  const nearest = sources.filter(({ level }) => level === sources[0]?.level);
  const ordered = PREFERRED[purpose].flatMap((kind) => nearest.filter((one) => one.kind === kind));
  const [source] = ordered as [CredentialSource];
  const { kind, level, label, reference, record } = source;
  const name = record?.kind === 'secret' ? nameInProfile(record) : '';
  const named = name === '' || isSecretId(name) ? '' : `"${name}" `;
  const place = level === 'prompt' ? undefined : `from ${label}`;
  const origin = record ? named + SAVED_HERE : place;
  const read = once(async () => {
    const value = await source.read();
    // The connection binds any other, since the REST server depends on the version.
    return record ? boundToRecord(record, value, origin) : new Sensitive(value.reveal(), origin);
  });
  // The start of every command does not load what reads answers.
  const { readClaims } =
    kind === 'jwt' && reference === undefined ? await import('../core/protocol/reply.js') : {};
  const subject = readClaims?.(await read())?.sub;
  const user = record?.info.username ?? subject ?? username;
  const principal =
    kind === 'password' ? `user:${user}` : (reference ?? `${kind}:${fingerprint(await read())}`);
  const owner = record ? ownerOf(record) : (user ?? principal);
  return { ...source, username: user, owner, principal, read };
}
