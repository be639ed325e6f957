import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { questionsFor } from '../../scripts/conformance/ask.js';
import { redact } from '../../scripts/conformance/redact.js';
import { compareWithSandbox, generationOf, type Recording, record } from '../../scripts/conformance/run.js';
import { newValues } from '../../scripts/conformance/values.js';
import { findCredentials } from '../helpers/canary.js';
import { unknownRoutes } from '../helpers/sandbox.js';
import { verdicts } from './conformance-replay.js';
import { ACCOUNT, recordFrom, VERSIONS, withServer } from './conformance-support.js';

const RECORDINGS = 'test/recordings';

describe.each(VERSIONS)('conformance with a %s server', (serverVersion) => {
  it('finds no difference to a sandbox of the same version', async () => {
    const rows = await compareWithSandbox(await recordFrom({ serverVersion }), ACCOUNT);
    expect(rows.filter(({ verdict }) => verdict !== 'same')).toEqual([]);
    expect(rows.length).toBe(questionsFor(generationOf(serverVersion), true).length);
  });

  it('finds no difference if REST authentication is off on both', async () => {
    const recording = await recordFrom({ serverVersion, restAuth: 'off' });
    expect(recording.restAuth).toBe('off');
    const rows = await compareWithSandbox(recording, ACCOUNT);
    expect(rows.filter(({ verdict }) => verdict === 'differs')).toEqual([]);
  });

  it('does not change or record the secrets and tokens of other users, and removes its own', async () => {
    const other = { alias: 'others_alias', value: 'secret-canary-5f1e9b7a40', user: 'ada', graph: 'demo' };
    await withServer({ serverVersion, secrets: [other] }, async (target, sandbox) => {
      const { left, ...recording } = await record(target, {
        version: serverVersion,
        account: ACCOUNT,
        fillBlockList: true,
      });
      const text = JSON.stringify(recording);
      const canaries = new Map([
        [other.value, 'the secret of somebody else'],
        [other.alias, 'its alias'],
        [ACCOUNT.password, 'the password'],
        [new URL(sandbox.gsqlUrl).host, 'the host'],
      ]);
      expect(findCredentials(text, canaries)).toEqual([]);
      expect(text).not.toMatch(/eyJ|graphcred_conformance|[a-z0-9]{32}/);
      expect(left).toEqual([]);
      const rows = await compareWithSandbox(recording, ACCOUNT);
      expect(rows.filter(({ verdict }) => verdict === 'differs')).toEqual([]);

      const isOld = generationOf(serverVersion) !== '4';
      const shown = await fetch(sandbox.gsqlUrl + (isOld ? '/gsqlserver/gsql/file' : '/gsql/v1/statements'), {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${ACCOUNT.user}:${ACCOUNT.password}`)}` },
        body: `${isOld ? 'USE GRAPH demo\n' : ''}SHOW SECRET`,
      });
      expect((await shown.text()).match(/Alias: \w+/g)).toEqual(['Alias: others_alias']);
    });
  });

  it('never sends a request that destroys data or that names nothing to delete', async () => {
    await withServer({ serverVersion }, async (target, sandbox) => {
      await record(target, { version: serverVersion, account: ACCOUNT, fillBlockList: true });
      const sent = sandbox.requests.map(({ method, path: where }) => `${method} ${where}`);
      expect(sent.filter((line) => /drop-all|clear|expiredtoken/i.test(line))).toEqual([]);
      expect(unknownRoutes(sandbox)).toEqual([]);
    });
  });

  it('a recording of it gives the client a verdict on each answer', async () => {
    await expectVerdicts(await recordFrom({ serverVersion }));
  });
});

it('the mask of a secret is redacted whole when it starts or ends with the name of the user', () => {
  const values = newValues(ACCOUNT);
  const body = ['xyzada', 'adaxyz', 'adaada']
    .map(
      (ends) =>
        `    - Secret: ${ends.slice(0, 3)}****${ends.slice(3)}\n      - Alias: ${values.get('alias1')}\n`,
    )
    .join('');
  const redacted = redact({ status: 200, headers: {}, body, time: 0 }, values, [], '3.9.3');
  expect(redacted).toMatchObject({ body: '    - Secret: {masked}\n      - Alias: {alias1}\n'.repeat(3) });
});

async function expectVerdicts(recording: Recording): Promise<void> {
  const found = Object.entries(await verdicts(recording));
  const named = (at: 0 | 1) => Object.fromEntries(found.map(([id, pair]) => [id, pair[at]]));
  expect(named(1)).toEqual(named(0));
  expect(found.length).toBeGreaterThan(20);
}

// It is no error if nothing was recorded yet, because the tests above use recordings of sandboxes.
const files = fs.readdirSync(RECORDINGS).filter((name) => name.endsWith('.json'));
describe.runIf(files.length > 0)('a recording of a real server', () => {
  const read = (name: string) =>
    JSON.parse(fs.readFileSync(path.join(RECORDINGS, name), 'utf8')) as Recording;

  it.each(files)('%s is understood by the client', async (name) => expectVerdicts(read(name)));

  it.each(files)('%s differs from the sandbox only where it says so', async (name) => {
    const recording = read(name);
    const rows = await compareWithSandbox(recording, ACCOUNT);
    const differing = rows.filter(({ verdict }) => verdict === 'differs').map(({ id }) => id);
    expect(differing.sort()).toEqual(Object.keys(recording.accepted ?? {}).sort());
  });

  it.each(files)('%s contains nothing that looks like a credential', (name) => {
    const text = fs.readFileSync(path.join(RECORDINGS, name), 'utf8');
    expect(text).not.toMatch(/eyJ[\w-]{10}|\b[a-z0-9]{32}\b|graphcred_conformance_/);
  });
});
