import fs from 'node:fs';
import { expect, test } from 'vitest';
// @ts-expect-error A script without types.
import { RULES } from '../../scripts/fidelity-page.mjs';

interface Rule {
  readonly rule: string;
  readonly evidence: string;
  readonly file: string;
  readonly test: string;
}

test.each((RULES as Rule[]).map((rule) => [rule.rule, rule] as const))(
  'the test that docs/fidelity.md names for a rule exists: %s',
  (_title, { file, test: title, evidence }) => {
    expect(fs.readFileSync(file, 'utf8')).toContain(title);
    expect(['recorded', 'documented', 'client', 'reported', 'assumed']).toContain(evidence);
  },
);
