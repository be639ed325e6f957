// Makes the table of docs/dev/sandbox.md from src/sandbox/faults/faults.ts.

export function faultTable(actions) {
  const rows = Object.entries(actions).map(([name, { sees, instead }]) => [
    code(name),
    sees,
    instead === undefined ? 'yes' : 'no',
  ]);
  return table(['action', 'what the client sees', 'was the call carried out?'], rows);
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  const cell = (text) => text.replaceAll('|', '\\|');
  return [line(head), line(head.map(() => '---')), ...rows.map((row) => line(row.map(cell)))].join('');
}

const code = (text) => `\`${text}\``;
