import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished, vi } from 'vitest';
import { PEM, privateKey, publicKey } from './jwt.js';
import { listening } from './ports.js';

/** The client of a person, which any loopback port may come back to. */
export const CLIENT = 'cli';
/** The client of a job, with a secret. */
export const JOB = { id: 'job', secret: 'canary-client-secret-0123456789abcdef' };
/** The client for which a JWT stands. */
export const FEDERATED = 'federated';
export const AUDIENCE = 'https://graph.example';

export interface RealProvider {
  readonly issuer: string;
  /** The options of a sandbox that takes its tokens. */
  readonly sandbox: { readonly key: string; readonly issuer: string };
  /** Returns the requests since the last call of this function, as `METHOD /path`. */
  requests(): string[];
  /** Resolves when it is asked this next. */
  asked(line: string): Promise<void>;
  /** What went wrong at the provider, by its own words: a refresh token used twice, for example. */
  readonly errors: string[];
  /** Every secret value that it has received or given out, to be searched for where it must not be. */
  readonly secrets: Set<string>;
  close(): Promise<void>;
}

/** What nobody else may see of what goes to the provider's endpoints and comes back. */
const SECRET_VALUES = ['access_token', 'refresh_token', 'id_token', 'device_code', 'code', 'code_verifier'];

/**
 * Starts `oidc-provider`, a certified provider that others wrote. Each refresh token works once, and using one twice ends
 * the whole login.
 * @param lifetimes of ID and access tokens, in seconds
 */
export async function startProvider({ ttl = 600 } = {}): Promise<RealProvider> {
  // It warns about the version of Node.
  const quiet = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const info = vi.spyOn(console, 'info').mockImplementation(() => {});
  const { default: Provider } = await import('oidc-provider');
  const server = http.createServer();
  const issuer = await listening(server);
  const jwk = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      },
      {
        client_id: JOB.id,
        client_secret: JOB.secret,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
      {
        client_id: FEDERATED,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    jwks: { keys: [jwk] } as never,
    cookies: { keys: ['test'] },
    ttl: {
      IdToken: ttl,
      AccessToken: ttl,
      ClientCredentials: ttl,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    findAccount: (_ctx: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    features: {
      deviceFlow: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'graph',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: ttl,
        }),
        useGrantedResource: () => true,
      },
    },
  } as never);
  const errors: string[] = [];
  for (const event of ['grant.error', 'authorization.error', 'server_error', 'revocation.error'] as const)
    provider.on(
      event as never,
      (_ctx: unknown, error: { error_description?: string; error_detail?: string; message: string }) =>
        errors.push(`${event}: ${error.error_detail ?? error.error_description ?? error.message}`),
    );
  const seen: string[] = [];
  const secrets = new Set<string>();
  const waiting: { line: string; tell: () => void }[] = [];
  provider.use(
    async (
      ctx: {
        method: string;
        path: string;
        body: unknown;
        oidc?: { params?: Record<string, unknown> };
      },
      next: () => Promise<void>,
    ) => {
      seen.push(`${ctx.method} ${ctx.path}`);
      for (const { line, tell } of waiting) if (line === seen.at(-1)) tell();
      await next();
      const exchanged = { ...ctx.oidc?.params, ...(ctx.body as object | undefined) } as Record<
        string,
        unknown
      >;
      for (const name of SECRET_VALUES)
        if (typeof exchanged[name] === 'string') secrets.add(exchanged[name] as string);
    },
  );
  server.on('request', provider.callback());
  quiet.mockRestore();
  // It says which of its pages and policies are those it comes with.
  onTestFinished(() => info.mockRestore());
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    issuer,
    sandbox: { key: PEM, issuer },
    requests: () => seen.splice(0),
    asked: (line) => new Promise((tell) => waiting.push({ line, tell })),
    errors,
    secrets,
    close,
  };
}

/** Opens a page as a browser does when its address is entered; `fetch` would ask as a script of a page. */
export async function visit(
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const request = http.request(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'sec-fetch-mode': 'navigate', ...type, ...headers },
    agent: false,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
}

/**
 * Plays a person in a browser: signs in as `user`, agrees, and follows the provider back to where it sends the browser.
 * @returns the last page
 */
export async function signInByHttp(start: string, user: string): Promise<{ url: string; text: string }> {
  const jar = new Map<string, string>();
  const go = async (url: string, body?: URLSearchParams) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await visit(url, { cookie }, body?.toString());
    for (const set of reply.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      jar.set(name, value);
    }
    return reply;
  };
  let url = start;
  let reply = await go(url);
  for (let step = 0; step < 20; step++) {
    const next = reply.headers.location;
    if (next !== undefined) {
      url = new URL(next, url).href;
      reply = await go(url);
      continue;
    }
    const { text } = reply;
    const [, action] = /<form[^>]*action="([^"]+)"/.exec(text) ?? [];
    if (action === undefined) return { url, text };
    const fields = [...text.matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)];
    const body = new URLSearchParams(
      Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value])),
    );
    if (text.includes('name="login"')) body.set('login', user);
    if (text.includes('name="password"')) body.set('password', 'any');
    reply = await go(new URL(action, url).href, body);
  }
  throw new Error(`no end of pages at ${url}`);
}
