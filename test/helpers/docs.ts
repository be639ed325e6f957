// The code blocks of the pages, which the tests run.
import fs from 'node:fs';
import path from 'node:path';

export interface Block {
  readonly heading: string;
  readonly language: string;
  readonly text: string;
  /** Where the reader is told to put it. */
  readonly file: string | undefined;
}

export function blocksOf(page: string): Block[] {
  const text = fs.readFileSync(path.join('docs', page), 'utf8');
  const pattern = /^#+ (.+)$|(?:^<!-- file: (\S+) -->\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
  let heading = '';
  return [...text.matchAll(pattern)].flatMap(([, title, file, language = '', body = '']) => {
    if (title === undefined) return [{ heading, language, text: body, file }];
    heading = title;
    return [];
  });
}

export function block(page: string, heading: string, language: string, at = 0): string {
  const found = blocksOf(page).filter((one) => one.heading === heading && one.language === language)[at];
  if (found === undefined) throw new Error(`${page} has no ${language} block under ${heading}`);
  return found.text;
}
