// Makes the table of switches in docs/dev/sandbox.md from src/sandbox/switches.ts.

/** Replaces the text between `<!-- switches: … -->` and `<!-- end of switches -->`. */
export function sandboxPage(page, { SWITCHES }) {
  const between = /(<!-- switches: [^\n]*-->\n)[\s\S]*?(<!-- end of switches -->)/;
  if (!between.test(page)) throw new Error('docs/dev/sandbox.md has no marks for switches.');
  return page.replace(between, (_, before, after) => `${before}\n${switchTable(SWITCHES)}\n${after}`);
}

function switchTable(switches) {
  const rows = Object.entries(switches).map(([name, { initial, others = [], about }]) => [
    code(name),
    [initial, ...others]
      .map((value) => code(typeof value === 'string' ? value : JSON.stringify(value)))
      .join(', '),
    about,
  ]);
  return table(['switch', 'values', 'the question'], rows);
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  const cell = (text) => text.replaceAll('|', '\\|');
  return [line(head), line(head.map(() => '---')), ...rows.map((row) => line(row.map(cell)))].join('');
}

const code = (text) => `\`${text}\``;
