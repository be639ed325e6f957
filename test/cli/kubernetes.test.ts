import { Secret } from 'kubernetes-models/v1/Secret';
import { describe, expect, it } from 'vitest';
import { requireName } from '../../src/cli/print-token.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

describe('token get -o k8s-secret', () => {
  // holds: C6.9
  it('prints a Secret that Kubernetes accepts, with the token’s times of issue and expiry', async () => {
    const { env } = await bench({ serverVersion: '3.10.1' });
    const home = temporaryHome();
    const run = (line: string) => cli(home, line.split(' '), { env: { ...env, GRAPHCRED_STORE: 'file' } });
    const { status, stdout } = await run('token get -o k8s-secret --name graph-token --lifetime 1h');
    expect(status).toBe(0);
    const document = JSON.parse(stdout);
    new Secret(document).validate();
    const { minted, expires } = {
      minted: Date.parse(document.metadata.annotations['graphcred/minted-at']),
      expires: Date.parse(document.metadata.annotations['graphcred/expires-at']),
    };
    expect(expires - minted).toBe(3_600_000);
    expect(document).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'graph-token', annotations: expect.anything() },
      type: 'Opaque',
      stringData: { token: (await run('token get --lifetime 1h')).stdout.trim() },
    });
  });

  it('is checked against a schema that refuses a token of another type', () => {
    const wrong = { metadata: { name: 'a' }, stringData: { token: 1 } };
    expect(() => new Secret(wrong as never).validate()).toThrow('must be string');
  });

  it('takes the longest name that Kubernetes does, of 253 letters', () => {
    expect(() => requireName('a'.repeat(253))).not.toThrow();
    expect(() => requireName('a'.repeat(254))).toThrow('Invalid Kubernetes Secret name.');
  });

  it.each([
    ['token get -o k8s-secret', '--name NAME'],
    ['token get -o k8s-secret --name Graph_Token', '--name graph-token'],
    [`token get -o k8s-secret --name ${'a'.repeat(254)}`, '--name graph-token'],
    ['token get --name graph-token', 'add -o k8s-secret'],
    ['token refresh -o k8s-secret --name a', 'hint'],
  ])('is exit 2 before anything is minted: %s', async (line, hint) => {
    const { env, requests } = await bench({ serverVersion: '3.10.1' });
    const result = await cli(temporaryHome(), line.split(' '), { env });
    expect(result).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(hint) });
    expect(requests()).toEqual([]);
  });
});
