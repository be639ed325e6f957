import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

/** Without the password, a token can be minted only from a saved secret. */
const SAVED_ONLY = { env: { GRAPHCRED_PASSWORD: '' } };

/** The paths at which tokens are minted. */
const MINT = { 3: '/requesttoken', 4: '/gsql/v1/tokens' } as const;

describe.each(['3.2.0', '3.10.1', '4.1.2'])('secret rotate on %s', (serverVersion) => {
  async function ready() {
    const made = await bench({ serverVersion });
    expect((await made.run('secret create ci --save')).status).toBe(0);
    const state = path.join(made.home, '.local/state/graphcred');
    return {
      ...made,
      masks: async () => {
        const { secrets } = await made.json<{ secrets: { alias: string; masked: string }[] }>('secret list');
        return Object.fromEntries(secrets.map(({ alias, masked }) => [alias, masked]));
      },
      works: async () => (await made.run('token get --fresh', SAVED_ONLY)).status === 0,
      /** Deletes the stored value, as if the process had been killed before it saved it. */
      forgetSaved: (alias: string) => {
        const files = fs.readdirSync(state).map((name) => path.join(state, name));
        const saved = files.filter(
          (file) => /secret-[^/]*json$/.test(file) && fs.readFileSync(file, 'utf8').includes(`"${alias}"`),
        );
        expect(saved).toHaveLength(1);
        for (const file of saved) fs.rmSync(file);
      },
      leftOver: () => fs.readdirSync(state).filter((name) => name.startsWith('rotate-')),
    };
  }

  // holds: C2.9
  test('gives the alias a new value, which is saved and works', async () => {
    const { run, masks, works, leftOver, requests } = await ready();
    const before = await masks();
    requests();
    const done = await run('secret rotate ci -o json');
    expect(done.status).toBe(0);
    expect(JSON.parse(done.stdout)).toEqual({ schemaVersion: 1, alias: 'ci', saved: true });
    expect(done.stderr.includes('live on')).toBe(serverVersion.startsWith('4'));
    expect(requests().some((line) => line === 'DELETE /gsql/v1/tokens')).toBe(false);
    const after = await masks();
    expect(Object.keys(after)).toEqual(['ci']);
    expect(after.ci).not.toBe(before.ci);
    expect(await works()).toBe(true);
    expect(leftOver()).toEqual([]);
  });

  // Only 4.x takes a secret as a login.
  if (serverVersion === '4.1.2')
    test('logs in with the secret that it replaces, and after a lost answer with what it saved', async () => {
      const clean = await ready();
      clean.requests();
      expect((await clean.run('secret rotate ci', SAVED_ONLY)).status).toBe(0);
      const count = clean.requests().length;
      for (let nth = 1; nth <= count; nth++) {
        const { sandbox, run, works, masks } = await ready();
        sandbox.addFault({ action: 'drop-after', nth });
        const first = await run('secret rotate ci', SAVED_ONLY);
        if (first.status !== 0)
          expect((await run('secret rotate ci', SAVED_ONLY)).status, `rerun after ${nth}`).toBe(0);
        expect(await works()).toBe(true);
        expect(Object.keys(await masks())).toEqual(['ci']);
      }
    });

  // Whichever request fails, before or after the server carried it out, a saved secret works, and a second run finishes the rotation.
  // holds: C2.9, C2.10
  test.each(['drop-before', 'drop-after'] as const)(
    'recovers from %s at every request',
    async (action) => {
      const clean = await ready();
      clean.requests();
      await clean.run('secret rotate ci');
      const count = clean.requests().length;
      expect(count).toBeGreaterThan(5);
      for (let nth = 1; nth <= count; nth++) {
        const { sandbox, run, masks, works, leftOver } = await ready();
        const before = await masks();
        sandbox.addFault({ action, nth });
        const first = await run('secret rotate ci');
        expect(await works(), `a saved secret works after request ${nth} failed`).toBe(true);
        if (first.status !== 0) expect((await run('secret rotate ci')).status, `rerun after ${nth}`).toBe(0);
        const after = await masks();
        expect(Object.keys(after), `after ${nth}`).toEqual(['ci']);
        expect(after.ci).not.toBe(before.ci);
        expect(await works()).toBe(true);
        expect(leftOver()).toEqual([]);
      }
    },
    120_000,
  );

  test('finishes a rotation that was interrupted before it saved the new value, even if the next run is interrupted too', async () => {
    let cutOff = 0;
    for (let nth = 1; nth <= 6; nth++) {
      const { sandbox, run, masks, works, forgetSaved } = await ready();
      sandbox.addFault({ action: 'drop-before', route: MINT[serverVersion[0] as '3' | '4'], times: 1 });
      expect((await run('secret rotate ci')).status).not.toBe(0);
      forgetSaved('ci_next');
      sandbox.addFault({ action: 'drop-after', nth });
      // graphcred repeats some requests by itself, and then the rotation succeeds.
      if ((await run('secret rotate ci')).status === 0) continue;
      cutOff++;
      expect({ nth, ...(await run('secret rotate ci')) }).toMatchObject({ nth, status: 0 });
      expect(Object.keys(await masks()), `after ${nth}`).toEqual(['ci']);
      expect(await works()).toBe(true);
    }
    expect(cutOff).toBeGreaterThan(2);
  }, 120_000);

  test('an unknown alias is NOT_FOUND and changes nothing, with or without a store', async () => {
    const { run, masks } = await ready();
    const before = await masks();
    expect((await run('secret rotate other')).status).toBe(3);
    expect((await run('secret rotate other --store none')).status).toBe(3);
    expect(await masks()).toEqual(before);
  });

  test('an existing secret with the temporary name is not changed', async () => {
    const { run, masks } = await ready();
    await run('secret create ci_next');
    const before = await masks();
    expect((await run('secret rotate ci')).status).toBe(8);
    expect(await masks()).toEqual(before);
  });
});

// holds: C4.4
test('on 4.x the saved secret itself can log in', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  await run('secret create ci --save');
  const done = await run('secret rotate ci', SAVED_ONLY);
  expect(done).toMatchObject({ status: 0 });
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list', SAVED_ONLY);
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
});

test('with REST authentication off, the rotation stops before anything is dropped', async () => {
  const { run, json } = await bench({ restAuth: 'off' });
  await run('secret create ci --save');
  const list = async () =>
    (await json<{ secrets: { alias: string; masked: string }[] }>('secret list')).secrets;
  const [before] = await list();
  const refused = await run('secret rotate ci -o json');
  expect(refused.status).toBe(8);
  expect(JSON.parse(refused.stderr.trim().split('\n').at(-1) as string).error.code).toBe(
    'REST_AUTH_DISABLED',
  );
  expect(await list()).toContainEqual(before);
});

// holds: C2.12
test('two rotations at the same time do not mix', async () => {
  const { run, json } = await bench();
  await run('secret create ci --save');
  const both = await Promise.all([run('secret rotate ci'), run('secret rotate ci')]);
  expect(both.map(({ status }) => status)).toEqual([0, 0]);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  expect((await run('token get --fresh', SAVED_ONLY)).status).toBe(0);
});
