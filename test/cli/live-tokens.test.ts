import { describe, expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

interface List {
  tokens: { id: string; principal: string }[];
}

/** On 4.x two tokens of one second are the same token, so the server's clock goes on between two mints. */
async function benchWithClock(serverVersion: string) {
  const clock = { seconds: 0 };
  const used = await bench({ serverVersion, now: () => Date.now() + clock.seconds * 1000 });
  const mint = async (line: string) => {
    clock.seconds++;
    return used.json<{ token: string; source: string }>(line);
  };
  const list = async (options = '') => (await used.json<List>(`token list${options}`)).tokens;
  return { ...used, mint, list };
}

describe.each(['3.10.1', '4.1.2'])('a live token on %s', (serverVersion) => {
  // holds: C2.26
  test('is listed and deleted after --fresh has replaced it, and is never used again', async () => {
    const { run, json, mint, list } = await benchWithClock(serverVersion);
    const first = await mint('token get');
    const second = await mint('token get --fresh');
    expect(await mint('token get')).toMatchObject({ token: second.token, source: 'store' });
    expect(await list()).toHaveLength(2);
    await run('token delete --token-stdin', { stdin: second.token });
    expect(await list()).toHaveLength(1);
    expect(await json('token delete')).toMatchObject({ deleted: 1, missing: 0 });
    expect((await run('token check --token-stdin', { stdin: first.token })).status).toBe(4);
  });
});
