import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Call } from '../../src/cli/command.js';
import { askTrust } from '../../src/cli/session/trust-prompt.js';
import { temporaryHome } from '../helpers/cli.js';

// The person says no.
vi.mock('../../src/cli/output/prompt.js', () => ({ askYes: async () => false }));

test('before a file that nobody vouched for counts, its addresses, programs and files are shown', async () => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc.json');
  const text = JSON.stringify({
    gsqlUrl: 'http://a.example:1',
    restUrl: 'http://b.example:2',
    secretCommand: ['vault', 'kv get'],
    passwordFile: '/etc/pw',
    tls: { ca: 'ca.pem' },
  });
  fs.writeFileSync(file, text, { mode: 0o600 });
  const lines: string[] = [];
  const terminal = { isTTY: true, write: (line: string) => lines.push(line) };
  const ctx = { env: {}, stdin: terminal, stderr: terminal };
  const call = { flags: {}, ctx, report: { warn: () => {} } } as unknown as Call;
  const input = { flags: {}, env: {}, cwd: home, home, configDir: undefined, uid: process.getuid?.() };
  const asked = askTrust(call, input, [{ path: file, text, stat: fs.statSync(file) }]);
  await expect(asked).rejects.toMatchObject({ code: 'CONFIG_UNTRUSTED' });
  const shown = lines.join('').replace(/ +/g, ' ');
  for (const part of [
    `file ${file}`,
    'GSQL server http://a.example:1',
    'REST server http://b.example:2',
    'secretCommand vault kv get',
    'passwordFile /etc/pw',
    'tls.ca ca.pem',
  ])
    expect(shown).toContain(part);
});
