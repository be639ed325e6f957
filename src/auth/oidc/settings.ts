import { refuseValue } from '../../config/errors.js';
import {
  type ConfigKey,
  isInFile,
  KEYS,
  type Level,
  PRECEDENCE,
  type SourcedValue,
  variableIn,
} from '../../config/keys.js';
import { isSecureUrl } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import type { BareRun } from '../../run/ports.js';
import type { Run } from '../../run/run.js';
import { STORES } from '../../store/store.js';

export function oidcSettings({ settings: { all } }: BareRun): SourcedValue[] {
  const isOfIssuer = ({ level }: SourcedValue) => countsAt(all['oidc.issuer'], level);
  return KEYS.filter((key) => key.startsWith('oidc.')).flatMap((key) => all[key].find(isOfIssuer) ?? []);
}

/** Whether what a level has of a provider is for the issuer in force, as a client's secret for another one is not. */
function countsAt(issuers: readonly SourcedValue[], level: Level): boolean {
  const own = issuers.find((one) => one.level === level);
  const rank = (of: Level = level) => PRECEDENCE.indexOf(of);
  return own ? own.value === issuers[0]?.value : !isInFile(level) || rank() <= rank(issuers[0]?.level);
}

export function oidcOf(run: BareRun) {
  const { settings } = run;
  const all = oidcSettings(run);
  const set = (key: ConfigKey) => all.find((one) => one.key === key);
  const issuer = set('oidc.issuer');
  if (issuer === undefined) return undefined;
  const areLeftOut = settings.leftOut.some((layer) => layer.set.some(({ level }) => level === 'variable'));
  const isOfVariable = !areLeftOut && countsAt(settings.all['oidc.issuer'], 'variable');
  const text = (key: ConfigKey) => set(key)?.value as string | undefined;
  const refuse = (key: ConfigKey, problem: string, hint: string) => refuseValue(settings, key, problem, hint);
  if (!isSecureUrl(String(issuer.value)))
    refuse('oidc.issuer', 'is not an https URL', 'write the URL of the provider: https://id.example.com');
  if (String(issuer.value).includes('@'))
    refuse('oidc.issuer', 'must not hold a user name or password', 'remove them from the address');
  const addClient = 'set the client too: --oidc-client-id ID, or oidc.clientId in the profile';
  const clientId = text('oidc.clientId') ?? refuse('oidc.issuer', 'is set without a client', addClient);
  const grant = text('oidc.grant');
  const grants = 'write client_credentials, or leave oidc.grant out if a person logs in';
  if (grant !== undefined && grant !== 'client_credentials')
    refuse('oidc.grant', 'is not a grant for jobs', grants);
  const use = text('oidc.use') ?? (grant === undefined ? 'id_token' : 'access_token');
  if (use !== 'id_token' && use !== 'access_token')
    return refuse('oidc.use', 'is not a kind of token', 'write id_token or access_token');
  const port = text('oidc.port') ?? '0';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    refuse('oidc.port', 'is not a port number', 'give a whole number up to 65535');
  return {
    issuer: String(issuer.value),
    clientId,
    /** Separated by spaces; empty when none are asked for. */
    scopes: text('oidc.scopes') ?? (grant === undefined ? 'openid offline_access' : ''),
    audience: text('oidc.audience'),
    /** Which of the provider's tokens the database takes. */
    use,
    isJob: grant !== undefined,
    clientSecret: isOfVariable ? variableIn(run.ports.env, 'GRAPHCRED_OIDC_CLIENT_SECRET', false) : undefined,
    clientSecretFile: set('oidc.clientSecretFile'),
    /** `github`, or the file with a JWT that stands for the client. */
    clientAssertion: set('oidc.clientAssertion'),
    /** The loopback port that the browser comes back to; 0 for a free one. */
    port: Number(port),
    level: issuer.level,
  };
}

export type Oidc = Readonly<NonNullable<ReturnType<typeof oidcOf>>>;

const PREFIX = 'oidc:';

/** Identifies the owner of a provider's tokens by all that decides what they say. @param sub the user; absent for a job */
export function providerPrincipal({ issuer, clientId, use, audience, scopes }: Oidc, sub?: string): string {
  const who = sub === undefined ? ['job', clientId] : ['user', sub, clientId];
  const parts = [...who, issuer, use, audience ?? '', scopes];
  return PREFIX + parts.map((text) => text.replace(/[ %]/g, encodeURIComponent)).join(' ');
}

/** Whether the tokens of this owner are a provider's: they are for every graph, and have their own end. */
export function isOfProvider(principal: string | undefined): boolean {
  return principal?.startsWith(PREFIX) === true;
}

/** Returns `--min-ttl` for the tokens of an owner; undefined for a part of the life that a provider gives them. */
export function minTtlFor({ settings: { minTtl, all } }: Run, principal: string | undefined) {
  return isOfProvider(principal) && all.minTtl.length === 0 ? undefined : minTtl;
}

export function notLoggedIn({ settings, ports, stores }: Run, message: string): GraphException {
  const { keeps } = STORES[stores.inForce.name];
  const command = `login -p ${settings.profile.name}${keeps.credentials ? '' : ' --store file'}`;
  const first = keeps.tokens ? 'log in' : 'the store none keeps no login; leave that setting out, and log in';
  const inJob = 'in a job, set oidc.grant to client_credentials in the profile';
  return new GraphException('AUTH_FAILED', message, { hint: ports.inCi ? inJob : [first, { command }] });
}
