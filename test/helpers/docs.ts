// Reads the code blocks of the pages, which the tests run.
import fs from 'node:fs';
import path from 'node:path';
import { entryOf, RUN_BY } from './code-blocks.js';

export interface Block {
  readonly heading: string;
  readonly language: string;
  /** The text of the block. Reading this field counts as running the block: see `unused`. */
  readonly text: string;
  /** The file into which the page tells the reader to put the block. */
  readonly file: string | undefined;
  /** The page, heading and first line of the block. */
  readonly name: string;
}

const used = new Set<string>();

/** @param page in docs/ */
export function blocksOf(page: string): Block[] {
  const text = fs.readFileSync(path.join('docs', page), 'utf8');
  const pattern = /^#+ (.+)$|(?:^<!-- file: (\S+) -->\n)?^( *)```(\w*)\n([\s\S]*?)^\3```$/gm;
  let heading = '';
  return [...text.matchAll(pattern)].flatMap(([, title, file, , language = '', body = '']) => {
    if (title !== undefined) {
      heading = title;
      return [];
    }
    const name = `${path.join('docs', page)} / ${heading} / ${language}: ${body.split('\n')[0]?.trim()}`;
    const found = {
      heading,
      language,
      file,
      name,
      get text() {
        used.add(name);
        return body;
      },
    };
    return [found];
  });
}

/** Returns the blocks that belong to this file of tests, and that it has not read. */
export function unused(file: string): string[] {
  const pages = (RUN_BY[file] ?? []).map((entry) => path.relative('docs', entry.split(' / ')[0] ?? ''));
  const names = [...new Set(pages)].flatMap((page) => blocksOf(page).map(({ name }) => name));
  return names.filter((name) => entryOf(name)?.file === file && !used.has(name));
}

export function block(page: string, heading: string, language: string, at = 0): string {
  const found = blocksOf(page).filter((one) => one.heading === heading && one.language === language)[at];
  if (found === undefined) throw new Error(`${page} has no ${language} block under ${heading}`);
  return found.text;
}
