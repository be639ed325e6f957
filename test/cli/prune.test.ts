import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

test.each(['3.10.1', '4.1.2'])(
  'prune on %s drops litter and nothing else, and only after a yes',
  async (serverVersion) => {
    const { run, json } = await bench({ serverVersion });
    await run('secret create');
    await run('secret create --save');
    await run('secret create named');
    const aliases = async () =>
      (await json<{ secrets: { alias: string }[] }>('secret list')).secrets.map(({ alias }) => alias);
    const before = await aliases();
    expect(before).toHaveLength(3);
    expect(await run('secret prune')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('--yes'),
    });
    const dry = await json<{ dropped: string[] }>('secret prune --dry-run');
    expect(dry).toEqual({
      schemaVersion: 1,
      dropped: [expect.stringMatching(/^AUTO_GENERATED_ALIAS_/)],
      missing: [],
      dryRun: true,
    });
    expect(await aliases()).toEqual(before);
    expect(await json('secret prune --yes')).toEqual({ ...dry, dryRun: false });
    expect(await aliases()).toEqual(before.filter((alias) => alias !== dry.dropped[0]));
    expect(await json('secret prune --yes')).toMatchObject({ dropped: [] });
  },
);

test('a secret saved in another store than the one in force is spared as well', async () => {
  const { json } = await bench();
  const { alias } = await json<{ alias: string }>('secret create --save');
  expect(await json('secret prune --yes --store none')).toMatchObject({ dropped: [] });
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map((secret) => secret.alias)).toEqual([alias]);
});
