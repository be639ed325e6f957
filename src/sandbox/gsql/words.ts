/** One word of a GSQL text; `;` and `,` are words of their own. Lines and columns count from 1. */
export interface Word {
  readonly text: string;
  readonly quoted: boolean;
  readonly line: number;
  readonly column: number;
}

// Comments, quoted words, punctuation, and any other text between blanks.
const PIECE =
  /#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|[;,]|[^\s;,]+/g;

export function scan(source: string): Word[] {
  const words: Word[] = [];
  let line = 1;
  let lineStart = 0;
  let from = 0;
  for (const match of source.matchAll(PIECE)) {
    for (let i = source.indexOf('\n', from); i >= 0 && i < match.index; i = source.indexOf('\n', i + 1)) {
      line++;
      lineStart = i + 1;
    }
    from = match.index;
    const piece = match[0];
    if (piece.startsWith('#') || piece.startsWith('//') || piece.startsWith('/*')) continue;
    const inner = match[1] ?? match[2];
    words.push({
      text: inner === undefined ? piece : inner.replace(/\\(.)/g, '$1'),
      quoted: inner !== undefined,
      line,
      column: match.index - lineStart + 1,
    });
  }
  return words;
}
