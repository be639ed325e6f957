// Makes the tables of docs/dev/sandbox.md from src/sandbox: its texts and its switches.

/** Replaces the text between the marks `<!-- NAME: … -->` and `<!-- end of NAME -->`. */
export function sandboxPage(page, { TEXT_TABLES, SWITCHES }) {
  const parts = { texts: textTables(TEXT_TABLES), switches: switchTable(SWITCHES) };
  return Object.entries(parts).reduce((text, [name, table]) => {
    const between = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[\\s\\S]*?(<!-- end of ${name} -->)`);
    if (!between.test(text)) throw new Error(`docs/dev/sandbox.md has no marks for ${name}.`);
    return text.replace(between, (_, before, after) => `${before}\n${table}\n${after}`);
  }, page);
}

function textTables(tables) {
  return Object.entries(tables)
    .map(
      ([title, texts]) => `### ${title}\n\n${table(['text', 'when', 'answer', 'evidence'], textRows(texts))}`,
    )
    .join('\n');
}

function textRows(texts) {
  return Object.entries(texts).flatMap(([id, text]) => [
    [code(id), text.when, answer(text, text.statusAssumed), `${text.evidence}: ${text.source}`],
    ...Object.entries(text.variants ?? {}).map(([name, variant]) => [
      `… ${code(name)}`,
      '',
      answer({ status: text.status, ...variant }),
      `${variant.evidence}: ${variant.source}`,
    ]),
  ]);
}

function answer({ status, code: errorCode, returnCode, message, body, fields }, statusAssumed) {
  const head = [
    status && `${status}${statusAssumed ? ' (A)' : ''}`,
    body,
    errorCode,
    returnCode && `return code ${returnCode}`,
  ];
  const extra = fields && `with ${code(JSON.stringify(fields))}`;
  return [...head, message && code(message.trimEnd()), extra].filter(Boolean).join(' ');
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

function code(text) {
  const shown = text.replaceAll('\r', '').replaceAll('\n', '⏎');
  return shown.includes('`') ? `\`\` ${shown} \`\`` : `\`${shown}\``;
}
