import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bench, bench, temporaryHome } from '../helpers/cli.js';
import { DEEP, PROPERTY_MS } from '../helpers/property.js';

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

async function act({ run }: Bench, person: Person, step: (typeof STEPS)[number]): Promise<void> {
  const named = { GRAPHCRED_USERNAME: person, GRAPHCRED_PASSWORD: person };
  const nameless = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  if (step === 'login by secret') {
    const made = await run('secret create --store none', { env: named });
    await run(`login -p ${person} --secret-stdin`, { env: nameless, stdin: made.stdout });
  } else if (step === 'login by password') await run(`login -p ${person}`, { env: named });
  else if (step === 'rotate by secret') await run(`secret rotate ci -p ${person}`, { env: nameless });
  else if (step === 'profile remove') await run(`profile remove ${person} --yes`, { env: nameless });
  else await run(`${step} -p ${person}`, { env: step === 'logout' ? nameless : named });
}

// holds: C4.2
test.each(['3.10.1', '4.1.2'])(
  'on %s two people with two profiles never get each other’s token or lose their own',
  async (serverVersion) => {
    const step = fc.tuple(fc.constantFrom(...PEOPLE), fc.constantFrom(...STEPS));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), async (steps) => {
        const stateFile = path.join(temporaryHome(), 'state.json');
        const users = PEOPLE.map((name) => ({ name, password: name, role: 'superuser' as const }));
        const b = await bench({ serverVersion, users, stateFile });
        const get = async (person: Person) => {
          const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
          const { status, stdout } = await b.run(`token get --fresh -p ${person}`, { env });
          if (status === 0) expect(userOf(stdout.trim(), stateFile)).toBe(person);
          return status;
        };
        for (const [person, what] of steps) {
          const other = person === 'ann' ? 'bob' : 'ann';
          const before = await get(other);
          await act(b, person, what);
          expect(await get(other), `of ${other} after ${what} of ${person}`).toBe(before);
          await get(person);
        }
        await b.sandbox.close();
      }),
      { numRuns: DEEP ? 500 : 15 },
    );
  },
  PROPERTY_MS,
);
