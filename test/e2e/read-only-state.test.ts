import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { mountSkipReason } from '../helpers/keyring.js';
import { start } from '../helpers/process.js';
import { scene } from '../helpers/scene.js';
import { foldersOf } from '../helpers/storm.js';

// The state folder becomes read-only after the server has carried out the request. The change on the server remains, and the message says what is
// left to do on this machine.

const skip = mountSkipReason();

/** Runs a command while the state folder is read-only, as after a remount. */
const readOnly = (folder: string) => [
  'unshare',
  '-m',
  'sh',
  '-c',
  `mount --bind '${folder}' '${folder}' && mount -o remount,ro,bind '${folder}' && exec "$@"`,
  'sh',
];

describe.skipIf(skip !== undefined)(`a read-only state folder ${skip ?? ''}`, () => {
  const stored = async () => {
    const home = temporaryHome();
    const all = await scene(home);
    const token = (await all.run('token get')).stdout.trim();
    const { stateDir } = foldersOf(home);
    return { ...all, token, stateDir, prefix: readOnly(stateDir) };
  };
  /** Deletes the token on the server, but not from the store of this machine. */
  const refuseAtServer = async ({ env, token }: Awaited<ReturnType<typeof stored>>) => {
    const line = 'token delete --token-stdin --store none'.split(' ');
    expect((await start(line, env, token).ended).status).toBe(0);
  };

  test('token delete deletes the token on the server, exits 10, and reports that it is still stored', async () => {
    const { run, accepted, token, prefix, stateDir } = await stored();
    const ended = await run('token delete -o json', prefix);
    expect(ended).toMatchObject({ status: 10, stdout: '{"schemaVersion":1,"deleted":1,"missing":0}\n' });
    expect(JSON.parse(ended.stderr).error).toMatchObject({
      code: 'PARTIAL',
      message: expect.stringContaining(`cannot write to ${stateDir}: the file system is read-only`),
      hint: expect.stringContaining('graphcred token delete --skip-missing'),
    });
    expect(await accepted(token)).toBe(false);
    expect((await run('token delete --skip-missing')).status).toBe(0);
    expect((await run('token get')).stdout.trim()).not.toBe(token);
  });

  test('logout --revoke revokes the token, exits 10, and reports that it is still stored', async () => {
    const { run, accepted, token, prefix } = await stored();
    const ended = await run('logout --revoke', prefix);
    expect(ended.status).toBe(10);
    expect(ended.stderr).toMatch(/still held: .*: revoked, but not forgotten here: cannot write/);
    expect(await accepted(token)).toBe(false);
  });

  test('logout changes nothing, and reports this with exit 6', async () => {
    const { run, prefix } = await stored();
    const ended = await run('logout', prefix);
    expect(ended).toMatchObject({ status: 6, stdout: '' });
    expect(ended.stderr).toContain('the file system is read-only');
  });

  test.each([
    ['token check', 4],
    ['status', 4],
  ])('%s prints its result, and warns that the refused token is still stored', async (line, status) => {
    const all = await stored();
    await refuseAtServer(all);
    const ended = await all.run(line, all.prefix);
    expect(ended.status).toBe(status);
    expect(ended.stderr).toContain('warning: the refused token could not be forgotten here');
    expect(ended.stdout + ended.stderr).toContain('graphcred token get --fresh');
    expect(ended.stderr).not.toContain(all.token);
  });

  test('api sends its request with a new token, not with the refused one again', async () => {
    const all = await stored();
    await refuseAtServer(all);
    const ended = await all.run('api /version', all.prefix);
    expect(ended.status).toBe(0);
    expect(ended.stderr).toContain('warning: the refused token could not be forgotten here');
    expect(fs.readdirSync(all.stateDir).filter((name) => /\.(lock|tmp)/.test(name))).toEqual([]);
  });
});
