import { describe, expect, test } from 'vitest';
import { mint } from '../../src/action/request-token.js';
import { revoke } from '../../src/action/revoke.js';
import { findCredentials } from '../helpers/canary.js';
import { ANSWERS, repeatingServer } from '../helpers/repeating-server.js';
import { playJob } from '../helpers/runner.js';

const SECRET = 'kan4r1e0secret0value0of0the0user';
const PASSWORD = 'Kanarie "zang\\vogel" /+=& 7431%0A';
const USER = 'ada';
const CREDENTIALS: [string, Record<string, string>][] = [
  ['a secret', { secret: SECRET }],
  ['a password', { username: USER, password: PASSWORD }],
];
const CANARIES = new Map([
  [SECRET, 'secret'],
  [PASSWORD, 'password'],
  [`${USER}:${PASSWORD}`, 'login'],
]);

describe.each(['3.10.1', '4.1.2'])('on a server that says it is %s', (version) => {
  describe.each(CREDENTIALS)('with %s', (_name, credential) => {
    test.each(Object.keys(ANSWERS))('no credential is in the log when the server %s', async (name) => {
      const answer = ANSWERS[name as keyof typeof ANSWERS] as (typeof ANSWERS)[string];
      const { url, sent } = await repeatingServer(version.startsWith('4'), answer);
      const job = playJob();
      const inputs = { 'rest-url': url, 'gsql-url': url, graph: 'social', ...credential };
      const main = await job.run(
        (runner) => mint(runner, { timeoutMs: 10_000, signal: new AbortController().signal }),
        inputs,
      );
      const token = main.outputs.token ?? 'no0token0no0token0no0token0no0to';
      // If the main step made no token, the post step still gets a hostile token and a hostile address.
      if (main.failed)
        Object.assign(job.state, { token, 'rest-url': url, 'gsql-url': url, 'expires-at': 'now' });
      const post = await job.run((runner) => revoke(runner, { timeoutMs: 10_000 }), inputs);
      expect(sent.length).toBeGreaterThan(2);

      const canaries = new Map([...CANARIES, [token, 'token']]);
      for (const { raw } of [main, post]) {
        const lines = raw.split('\n').filter((line) => line !== '');
        // Every line is a command of the runner. Its text cannot contain a line break, and so cannot contain another command.
        for (const line of lines) expect(line).toMatch(/^::(?:add-mask|notice|warning|error)::/);
        const others = lines.filter((line) => !line.startsWith('::add-mask::'));
        expect(others.length).toBeGreaterThan(0);
        expect(findCredentials(others.join('\n'), canaries)).toEqual([]);
      }
      expect(findCredentials(job.log(), canaries)).toEqual([]);
      expect(job.log()).not.toMatch(/evil|##\[/);
    });
  });
});
