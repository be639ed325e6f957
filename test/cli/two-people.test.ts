import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bench, bench, type Result, type RunOptions, temporaryHome } from '../helpers/cli.js';
import { DEEP, PROPERTY_MS } from '../helpers/property.js';
import { redisSkipReason, startRedis } from '../helpers/redis.js';
import { storeKey } from '../helpers/redis-store.js';

const PEOPLE = ['ann', 'bob'] as const;
type Person = (typeof PEOPLE)[number];
/** What a person does with a profile of the same name: at a terminal with a password, or with a secret alone. */
const STEPS = [
  'login by secret',
  'login by password',
  'secret create ci --save',
  'secret create other --save',
  'secret rotate ci',
  'secret drop ci',
  'rotate by secret',
  'token delete --skip-missing',
  'logout',
  'profile remove',
] as const;

/** Returns whose token it is: the user of a JWT (4.x), or of an entry in the state of the sandbox (3.x). */
function userOf(token: string, stateFile: string): string {
  const [, payload] = token.split('.');
  if (payload !== undefined) return JSON.parse(Buffer.from(payload, 'base64url').toString()).sub;
  const { tokens } = JSON.parse(fs.readFileSync(stateFile, 'utf8')) as { tokens: Record<string, string>[] };
  return tokens.find(({ value }) => value === token)?.user ?? 'nobody';
}

type Run = (line: string, options: RunOptions) => Promise<Result>;

async function act(run: Run, person: Person, step: (typeof STEPS)[number]): Promise<string | undefined> {
  const named = { GRAPHCRED_USERNAME: person, GRAPHCRED_PASSWORD: person };
  const nameless = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  if (step === 'login by secret') {
    const made = await run('secret create --store none', { env: named });
    await run(`login -p ${person} --secret-stdin`, { env: nameless, stdin: made.stdout });
    return made.stdout.trim();
  }
  if (step === 'login by password') await run(`login -p ${person}`, { env: named });
  else if (step === 'rotate by secret') await run(`secret rotate ci -p ${person}`, { env: nameless });
  else if (step === 'profile remove') await run(`profile remove ${person} --yes`, { env: nameless });
  else await run(`${step} -p ${person}`, { env: step === 'logout' ? nameless : named });
  return undefined;
}

/**
 * Draws what two people with two profiles on one machine do, and fails when one gets the other's token, or when what one
 * does changes what the other gets.
 * @param open gives what runs a command line in a new home, and the environment in which a token is asked for; it gets
 *   the secret that the person logged in with last, which a store for tokens alone does not keep
 */
async function neverMixed(
  serverVersion: string,
  numRuns: number,
  open: (bench: Bench) => Promise<{ run: Run; env?: (secret: string) => Record<string, string> }>,
): Promise<void> {
  const users = PEOPLE.map((name) => ({ name, password: name, role: 'superuser' as const }));
  const steps = fc.array(fc.tuple(fc.constantFrom(...PEOPLE), fc.constantFrom(...STEPS)), {
    minLength: 1,
    maxLength: 9,
  });
  const property = fc.asyncProperty(steps, async (drawn) => {
    const stateFile = path.join(temporaryHome(), 'state.json');
    const b = await bench({ serverVersion, users, stateFile });
    const { run, env } = await open(b);
    const secrets = new Map<Person, string>();
    const get = async (person: Person) => {
      const secret = secrets.get(person) ?? '';
      const nameless = { ...env?.(secret), GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
      const { status, stdout } = await run(`token get --fresh -p ${person}`, { env: nameless });
      if (status === 0) expect(userOf(stdout.trim(), stateFile)).toBe(person);
      return status;
    };
    for (const person of PEOPLE) {
      secrets.set(person, (await act(run, person, 'login by secret')) ?? '');
      expect(await get(person)).toBe(0);
    }
    for (const [person, step] of drawn) {
      const other = person === 'ann' ? 'bob' : 'ann';
      const before = await get(other);
      secrets.set(person, (await act(run, person, step)) ?? secrets.get(person) ?? '');
      expect(await get(other), `of ${other} after ${step} of ${person}`).toBe(before);
      await get(person);
    }
    await b.sandbox.close();
  });
  await fc.assert(property, { numRuns });
}

const VERSIONS = ['3.10.1', '4.1.2'];

// holds: C4.2
test.each(VERSIONS)(
  'on %s two people with two profiles never get each other’s token or lose their own',
  (serverVersion) => neverMixed(serverVersion, DEEP ? 500 : 15, async ({ run }) => ({ run })),
  PROPERTY_MS,
);

// holds: C4.2
test.each(VERSIONS)(
  'on %s a secret that was saved under the name of another person leaves that one’s profile as it was',
  async (serverVersion) => {
    const users = PEOPLE.map((name) => ({ name, password: name, role: 'superuser' as const }));
    const stateFile = path.join(temporaryHome(), 'state.json');
    const { run } = await bench({ serverVersion, users, stateFile });
    const as = (name: string, password = name) => ({
      GRAPHCRED_USERNAME: name,
      GRAPHCRED_PASSWORD: password,
    });
    await run('secret create rr --save', { env: as('ann') });
    await run('login -p ann --secret-alias rr', { env: as('ann') });
    const { stdout } = await run('secret create rr --store none', { env: as('bob') });
    // A variable that is out of date.
    await run('login -p bob --secret-stdin --secret-alias rr', { env: as('ann', ''), stdin: stdout });
    for (const person of PEOPLE) {
      const got = await run(`token get --fresh -p ${person}`, { env: as('', '') });
      expect(userOf(got.stdout.trim(), stateFile)).toBe(person);
    }
  },
);

const skip = redisSkipReason();
if (skip !== undefined) console.log(`two people who share a Redis server are not tried here: ${skip}`);

test.skipIf(skip !== undefined).each(VERSIONS)(
  'on %s two people who share tokens through one Redis server never get each other’s',
  async (serverVersion) => {
    const { url } = await startRedis();
    const env = { GRAPHCRED_REDIS_URL: url, GRAPHCRED_STORE_KEY: storeKey.toString('base64') };
    await neverMixed(serverVersion, DEEP ? 100 : 5, async ({ run }) => ({
      run: (line, options) => run(line, { ...options, env: { ...env, ...options.env } }),
      env: (secret) => ({ GRAPHCRED_STORE: 'redis', GRAPHCRED_SECRET: secret }),
    }));
  },
  PROPERTY_MS,
);
