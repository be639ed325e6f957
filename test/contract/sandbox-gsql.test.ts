// How a GSQL text is read. What its statements do is in test/transcripts/sandbox/gsql-text.txt.
import { describe, expect, it } from 'vitest';
import { defined } from '../helpers/defined.js';
import { LOGIN, raw, start } from './sandbox-raw.js';

describe('a GSQL text', () => {
  const run = async (body: string) => {
    const { gsqlUrl } = await start({ serverVersion: '3.9.3' });
    const reply = await raw(gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, `USE GRAPH demo_graph ${body}`);
    const lines = reply.body.trimEnd().split('\n');
    return { lines: lines.slice(1, -2), code: Number(defined(lines.at(-1)).split(',')[1]) };
  };
  const failed = (alias: string) => `Failed to drop secrets: [${alias}].`;

  it.each([
    ['newlines', '\nDROP SECRET a\nDROP SECRET b'],
    ['semicolons', '; DROP SECRET a; DROP SECRET b;'],
    ['a list and quotes', '\nDROP SECRET "a" , \'b\''],
    ['lower case and odd blanks', '\r\n  drop   secret a\r\n drop\tsecret b'],
    ['comments', '# one\n // two\n/* three\nDROP SECRET c */ DROP SECRET a DROP SECRET b /* open'],
    ['URL-encoding', '%0D%0ADROP+SECRET+a%3B%20DROP+SECRET+%22b%22'],
    ['a stray percent sign', 'DROP SECRET a # 100%\nDROP SECRET b'],
  ])('may have %s', async (_, body) => {
    expect(await run(body)).toEqual({ lines: [failed('a'), failed('b')], code: 212 });
  });

  it('has names for keywords and separators in quotes', async () => {
    const { lines } = await run('DROP SECRET ";", "a b", \'it\\\'s\' "USE" GRAPH demo_graph');
    expect(lines).toEqual([failed(';'), failed('a b'), failed("it's"), expect.stringContaining('"USE"')]);
  });

  it.each(['DROP SECRET a,', 'USE GRAPH', 'DROP SECRET'])('that ends with %s names its end', async (end) => {
    const { lines } = await run(`\n\n${end}`);
    expect(lines.at(-1)).toBe('Encountered "<EOF>".');
  });

  it.each(['USE GRAPH ;', 'DROP SECRET ;', 'DROP SECRET ,', 'DROP SECRET a, ;'])(
    'takes no separator for a name: %s',
    async (text) => {
      expect((await run(text)).lines.at(-1)).toMatch(/^Encountered "[;,]"/);
    },
  );

  it.each(['CREATE SECRET', 'DROP SECRET a', 'SHOW USER', 'USE GLOBAL', 'USE GRAPH demo_graph', '; ;'])(
    'takes %s after CREATE SECRET for no alias',
    async (statement) => {
      const { lines, code } = await run(`CREATE SECRET ${statement}`);
      expect(lines[0]).toMatch(/^The secret: /);
      expect(code).not.toBe(211);
    },
  );
});
