// The table and the picture of a run.

export function markdown({ machine, rounds, rows, extras, skipped }) {
  const others = machine.others.map((text) => `, ${text}`).join('');
  const lines = [
    `graphcred ${machine.graphcred}, Node ${machine.node}${others}; ${machine.cpu}, ${machine.memoryGib} GiB, ${machine.system}; ${rounds} rounds.`,
    '',
    '| command | × `node -e 0` | goal | CPU ms | wall ms | peak MB | above the floor |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows.map(
      (row) =>
        `| ${row.label} | ${row.ratio.toFixed(2)} | ${row.goal ? `≤ ${row.goal}` : ''} | ${row.cpuMs.toFixed(0)} | ${row.wallMs.toFixed(0)} | ${row.rssMb.toFixed(0)} | ${memory(row)} |`,
    ),
    '',
    '| comparison | ratio | goal |',
    '|---|--:|--:|',
    ...extras.map(({ label, ratio, goal }) => `| ${label} | ${ratio.toFixed(2)} | ≤ ${goal} |`),
    ...(skipped.length > 0 ? ['', ...skipped.map((reason) => `Not measured: ${reason}.`)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function memory({ extraMb, goalExtraMb }) {
  const goal = goalExtraMb ? ` (goal +${goalExtraMb})` : '';
  return `${extraMb < 0 ? '−' : '+'}${Math.abs(extraMb).toFixed(1)} MB${goal}`;
}

/** Bars of CPU time; a tick where the goal is. */
export function svg({ machine, rows }) {
  const [left, width, step] = [370, 430, 26];
  const height = 64 + rows.length * step;
  const scale = width / Math.max(...rows.map(({ ratio }) => ratio));
  const bars = rows.map(({ label, ratio, goal, id }, index) => {
    const y = 44 + index * step;
    const name = label.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const colour =
      id === 'node'
        ? '#8a8f98'
        : /^(eager|gh)/.test(id)
          ? '#d9a441'
          : id.startsWith('one')
            ? '#2a9d6f'
            : '#2f6fde';
    const long = ratio * scale;
    // Beside the bar, and beside the goal where that is next to its end.
    const end = goal && goal >= ratio && (goal - ratio) * scale < 50 ? goal * scale : long;
    const tick =
      goal &&
      `<rect x="${(left + goal * scale).toFixed(1)}" y="${y - 2}" width="2" height="22" fill="#c0392b"/>`;
    return [
      `<text x="${left - 10}" y="${y + 13}" text-anchor="end">${name}</text>`,
      `<rect x="${left}" y="${y}" width="${long.toFixed(1)}" height="18" rx="2" fill="${colour}"/>`,
      ...(tick ? [tick] : []),
      `<text x="${(left + end + 8).toFixed(1)}" y="${y + 13}">${ratio.toFixed(2)}</text>`,
    ].join('\n  ');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="860" height="${height}" viewBox="0 0 860 ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#24292f">
  <title>CPU time of graphcred's commands as a multiple of node -e 0</title>
  <rect width="860" height="${height}" fill="#ffffff"/>
  <text x="16" y="24" font-size="14" font-weight="600">CPU time, as a multiple of node -e 0 (Node ${machine.node}); red: the goal</text>
  ${bars.join('\n  ')}
</svg>
`;
}
