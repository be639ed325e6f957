import path from 'node:path';
import * as openid from 'openid-client';
import { isSecureUrl } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import { removeQuietly, replaceFile } from '../../files/private-files.js';
import { startProgram } from '../../files/program.js';
import { hasDesktop, type Ports } from '../../run/ports.js';
import type { Run } from '../../run/run.js';
import { awaitCallback } from './callback.js';
import { badProvider, type Tokens, tokenParameters, withProvider } from './provider.js';
import { revoke } from './saved-login.js';
import type { Oidc } from './settings.js';

const SIGN_IN_MS = 300_000;
const MAX_CODE = 64;

export interface SignInOptions {
  readonly onDevice: boolean;
  readonly opensBrowser: boolean;
}

/** Lets a person sign in at the provider, within five minutes. `revoke` of the result ends a login that is not kept. */
export function signIn(run: Run, oidc: Oidc, options: SignInOptions) {
  return withProvider(run, oidc, async (provider) => {
    let tokens = options.onDevice
      ? await byDevice(run, oidc, provider)
      : await byBrowser(run, oidc, provider, options);
    const wantsRefreshToken = oidc.scopes.split(' ').includes('offline_access');
    // Some providers give it only after asking the person (OpenID Connect Core, 11). They are not told to ask at once,
    // because Entra ID then lets nobody in where administrators consent for everybody.
    if (wantsRefreshToken && tokens.refresh_token === undefined && !options.onDevice)
      tokens = await byBrowser(run, oidc, provider, options, { prompt: 'consent' });
    const { refresh_token: refreshToken } = tokens;
    // From here on a signal has the login revoked.
    run.ports.interruption.begin();
    return {
      tokens,
      revoke: async () => {
        if (refreshToken !== undefined) await revoke(provider, refreshToken).catch(() => {});
      },
    };
  });
}

/** Authorization Code with PKCE on a loopback port (RFC 8252). */
async function byBrowser(
  run: Run,
  oidc: Oidc,
  provider: openid.Configuration,
  { opensBrowser }: SignInOptions,
  more: { prompt?: 'consent' } = {},
): Promise<Tokens> {
  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  const nonce = openid.randomNonce();
  const callback = await awaitCallback(oidc.port, state, SIGN_IN_MS);
  const spinner = await run.ports.reporter.spinner();
  // In a folder that begins with a dot, a browser of a package with its own sandbox could not read it.
  const page = run.ports.home && path.join(run.ports.home, `graphcred-login-${process.pid}.html`);
  try {
    const url = openid.buildAuthorizationUrl(provider, {
      ...tokenParameters(oidc),
      redirect_uri: callback.redirectUri,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...more,
    });
    if (!isSecureUrl(url.href)) throw badProvider('has a login page that is not https', oidc);
    const address = callback.startAt(url.href);
    const isOpened = opensBrowser && (await openBrowser(run.ports, address, page));
    const why = more.prompt ? 'once more, to stay logged in' : 'to log in';
    run.ports.reporter.ask(`${isOpened ? 'Opening a browser' : 'Open on this machine'} ${why}: ${address}`);
    spinner.start('waiting for the browser', SIGN_IN_MS / 1000);
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: oidc.use === 'id_token',
    };
    const parameters = tokenParameters({ ...oidc, scopes: '' });
    return await openid.authorizationCodeGrant(provider, await callback.arrived, checks, parameters);
  } finally {
    if (page) removeQuietly(page);
    spinner.stop();
    await callback.close();
  }
}

/** The device flow (RFC 8628), for a machine without a browser. */
async function byDevice(run: Run, oidc: Oidc, provider: openid.Configuration): Promise<Tokens> {
  const { reporter } = run.ports;
  // RFC 8628 has no PKCE, but Keycloak wants it here too from a client for which it is switched on.
  const verifier = openid.randomPKCECodeVerifier();
  const device = await openid.initiateDeviceAuthorization(provider, {
    ...tokenParameters(oidc),
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const { user_code, verification_uri, expires_in, interval = 5 } = device;
  if (!isSecureUrl(verification_uri)) throw badProvider('has a login page that is not https', oidc);
  const limitMs = Math.min(expires_in * 1000, SIGN_IN_MS);
  const signal = AbortSignal.timeout(limitMs);
  const spinner = await reporter.spinner();
  reporter.ask(`Open ${verification_uri} on any device, and enter the code ${user_code.slice(0, MAX_CODE)}`);
  spinner.start('waiting for the login', limitMs / 1000);
  try {
    const paced = { ...device, interval: Math.max(1, interval) };
    const parameters = { ...tokenParameters({ ...oidc, scopes: '' }), code_verifier: verifier };
    return await openid.pollDeviceAuthorizationGrant(provider, paced, parameters, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new GraphException('TIMEOUT', `Nobody entered the code in ${Math.round(limitMs / 1000)} s.`, {
      hint: 'log in again, and enter the code sooner',
    });
  } finally {
    spinner.stop();
  }
}

const BROWSERS: Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an address in the desktop's browser, in a private page since everybody may read arguments. Returns whether it was started. */
async function openBrowser(ports: Ports, address: string, page: string | undefined): Promise<boolean> {
  if (!page || !hasDesktop(ports) || ports.env.SSH_CONNECTION) return false;
  const opener = BROWSERS[ports.platform] ?? ['xdg-open'];
  const env = ports.childEnvironment();
  return new Promise<boolean>((resolve) => {
    replaceFile(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${address}">\n`);
    const child = startProgram([...opener, page], env, { stdio: 'ignore', detached: true });
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
    child.unref();
  }).catch(() => false);
}
