import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';

/** Runs the script with an npm that gives this answer, and this one when it is asked for signatures. */
function audit(answer: string, signatures = '') {
  const folder = temporaryHome();
  fs.writeFileSync(path.join(folder, 'answer'), answer);
  fs.writeFileSync(path.join(folder, 'signatures'), signatures);
  const npm = `#!/bin/sh\n[ "$2" = signatures ] && exec cat '${folder}/signatures'\ncat '${folder}/answer'\nexit 1\n`;
  fs.writeFileSync(path.join(folder, 'npm'), npm, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH}` };
  return spawnSync(process.execPath, ['scripts/audit.mjs'], { encoding: 'utf8', env });
}

const found = (counts: Record<string, number>) =>
  audit(JSON.stringify({ vulnerabilities: { a: { severity: 'x' } }, metadata: { vulnerabilities: counts } }));

test('the audit fails only for vulnerabilities that are high or critical', () => {
  expect(found({ low: 3, moderate: 2, high: 0, critical: 0, total: 5 }).status).toBe(0);
  expect(found({ high: 1, critical: 0, total: 1 }).status).toBe(1);
  const { status, stdout } = found({ high: 0, critical: 2, total: 2 });
  expect({ status, stdout }).toEqual({
    status: 1,
    stdout: expect.stringMatching(/^audit: a: x\naudit: 2 known faults, 2 of them high or critical\n/),
  });
});

test('the audit exits 0 and says why it was not possible, without the registry’s address', () => {
  const answer =
    '{"message":"405 Method Not Allowed - POST https://registry.example/-/npm/v1/x","statusCode":405}';
  expect(audit(answer)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^audit: not done, because .*405 Method Not Allowed - POST …\n/),
  });
  expect(audit('not JSON')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('npm gave no answer'),
  });
});

test('the audit fails for a wrong signature, and not for a registry without signatures', () => {
  expect(audit('', '{"invalid":[{"name":"a","version":"1.0.0"}],"missing":[]}')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('signatures: a 1.0.0: wrong\nsignatures: 1 wrong\n'),
  });
  expect(audit('', '{"invalid":[],"missing":[]}').status).toBe(0);
  expect(audit('', 'npm error')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('signatures: not checked'),
  });
});
