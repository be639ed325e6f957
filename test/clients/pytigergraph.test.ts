import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { defined } from '../helpers/defined.js';
import { blocksOf } from '../helpers/docs.js';
import { run } from '../helpers/driver.js';
import { describePrograms } from './describe-programs.js';
import { installAll } from './install.js';
import { PYTIGERGRAPH } from './programs.js';
import { stage } from './run.js';
import { environmentOf } from './with-token.js';

await describePrograms(PYTIGERGRAPH);

const RELEASES = PYTIGERGRAPH.filter(({ name }) => !name.includes('async'));
const installed = await installAll(RELEASES);

describe.each(RELEASES.map((program) => [program.name, program] as const))('%s', (name, program) => {
  const found = defined(installed.get(program));
  test.skipIf('skip' in found)(
    'checks a certificate from 2.0.2 on, if REQUESTS_CA_BUNDLE is set',
    async () => {
      const [tls, other] = [await certificate('127.0.0.1'), await certificate('127.0.0.1')];
      const one = await stage('3.10.1', { tls });
      const put = (file: string, text: string) => {
        fs.writeFileSync(path.join(one.home, file), text);
        return path.join(one.home, file);
      };
      const text = defined(blocksOf('with-other-tools.md').find(({ file }) => file === 'load.py')).text;
      const env = environmentOf(one, ['folder' in found ? path.join(found.folder, 'bin') : '']);
      const ca = put('ca.pem', tls.cert);
      const words = ['graphcred', 'exec', '--ca', ca, '--', 'python3', put('load.py', text)];
      const checks = /^pyTigerGraph 2/.test(name);
      expect((await run(['sh', '-c', words.join(' ')], env)).status).toBe(0);
      for (const [bundle, isRefused] of [
        [ca, false],
        [put('other.pem', other.cert), checks],
      ] as const) {
        const ended = await run(['sh', '-c', words.join(' ')], { ...env, REQUESTS_CA_BUNDLE: bundle });
        expect(ended.status !== 0, ended.stderr).toBe(isRefused);
      }
    },
    300_000,
  );
});
