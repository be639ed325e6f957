// Formats the results of a run as a table and as a picture.

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

const COLOURS = [
  [/^node/, '#8a8f98'],
  [/^(eager|gh)/, '#b7791f'],
  [/^standalone/, '#23845d'],
  [/./, '#2f6fde'],
];

/** Draws bars of CPU time on an axis. Each bar has its value at its end, and a mark with a number at its goal. */
export function svg({ machine, rows }) {
  const [left, width, step, top] = [370, 430, 26, 44];
  const bottom = top + rows.length * step;
  const height = bottom + 44;
  const most = Math.ceil(Math.max(...rows.flatMap(({ ratio, goal }) => [ratio, goal ?? 0])));
  const at = (ratio) => left + (ratio * width) / most;
  const lines = Array.from({ length: most + 1 }, (_, n) =>
    [
      `<line x1="${at(n).toFixed(1)}" y1="${top - 6}" x2="${at(n).toFixed(1)}" y2="${bottom}" stroke="#d0d7de"/>`,
      `<text x="${at(n).toFixed(1)}" y="${bottom + 16}" text-anchor="middle">${n}</text>`,
    ].join('\n  '),
  );
  const bars = rows.map(({ label, ratio, goal }, index) => {
    const y = top + index * step;
    const name = label.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const [, colour] = COLOURS.find(([pattern]) => pattern.test(name));
    const end = at(ratio);
    // If a bar is too short for its value, the value is drawn beside it.
    const isInside = end - left > 40;
    const value = isInside
      ? `<text x="${(end - 5).toFixed(1)}" y="${y + 13}" text-anchor="end" fill="#ffffff" font-weight="600">${ratio.toFixed(2)}</text>`
      : `<text x="${(end + 5).toFixed(1)}" y="${y + 13}" font-weight="600">${ratio.toFixed(2)}</text>`;
    const beside = goal && Math.max(at(goal), end + (isInside ? 0 : 34)) + 6;
    const tick = goal && [
      `<path d="M${at(goal).toFixed(1)} ${y - 2}v22" stroke="#c0392b" stroke-width="2" stroke-dasharray="4 2"/>`,
      `<text x="${beside.toFixed(1)}" y="${y + 13}" font-size="10" fill="#c0392b">goal ${goal}</text>`,
    ];
    return [
      `<text x="${left - 10}" y="${y + 13}" text-anchor="end">${name}</text>`,
      `<rect x="${left}" y="${y}" width="${(end - left).toFixed(1)}" height="18" rx="2" fill="${colour}"/>`,
      value,
      ...(tick || []),
    ].join('\n  ');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="860" height="${height}" viewBox="0 0 860 ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#24292f">
  <title>CPU time of graphcred's commands as a multiple of node -e 0</title>
  <rect width="860" height="${height}" fill="#ffffff"/>
  <text x="16" y="24" font-size="14" font-weight="600">CPU time, as a multiple of node -e 0 (Node ${machine.node})</text>
  ${lines.join('\n  ')}
  ${bars.join('\n  ')}
  <text x="${left + width / 2}" y="${bottom + 34}" text-anchor="middle">× node -e 0; less is better</text>
</svg>
`;
}

const NODES = ['20', '22', '24'];
/** The columns before and after those of the versions of Node; the ones after are of the first version. */
const [BEFORE, AFTER] = [
  ['command', 'goal'],
  ['CPU ms', 'peak MB', 'above the floor'],
];

/**
 * Returns the table of docs/dev/performance.md with the ratios of this run in the column of its Node.
 * @param before the table as it is
 */
export function withRun(before, { machine, rounds, rows, extras }) {
  const major = machine.node.split('.')[0];
  const isFirst = major === NODES[0];
  const old = new Map(
    [...before.matchAll(/^\| (.+) \|$/gm)].map(([, line]) => [line.split(' | ')[0], line.split(' | ')]),
  );
  const lines = [...rows, ...extras].map((row) => {
    const cells = old.get(row.label) ?? [row.label, ...Array(1 + NODES.length + AFTER.length).fill('')];
    cells[1] = row.goal ? `≤ ${row.goal}` : '';
    cells[BEFORE.length + NODES.indexOf(major)] = row.ratio.toFixed(2);
    const last = row.cpuMs ? [row.cpuMs.toFixed(0), row.rssMb.toFixed(0), memory(row)] : ['', '', ''];
    return isFirst ? [...cells.slice(0, BEFORE.length + NODES.length), ...last] : cells;
  });
  const head = [...BEFORE, ...NODES.map((node) => `Node ${node}`), ...AFTER];
  const about = `* Node ${machine.node}: graphcred ${machine.graphcred}; ${machine.cpu}, ${machine.memoryGib} GiB, ${machine.system}; ${rounds} rounds.`;
  const others = NODES.map((node) =>
    node === major ? about : (new RegExp(`^\\* Node ${node}\\..*$`, 'm').exec(before)?.[0] ?? ''),
  ).filter(Boolean);
  const table = [head, head.map((_, at) => (at === 0 ? '---' : '--:')), ...lines];
  return `${others.join('\n')}\n\n${table.map((cells) => `| ${cells.join(' | ')} |\n`).join('')}`;
}

/** Reads what `svg` needs from the table of the page: the column of the first Node. */
export function readTable(text) {
  const rows = [...text.matchAll(/^\| (.+?) \| (?:≤ ([\d.]+))? *\| ([\d.]+) \|(?: [\d.]* *\|){2} \d+ \|/gm)];
  return {
    machine: { node: /^\* Node ([\d.]+):/m.exec(text)?.[1] },
    rows: rows.map(([, label, goal, ratio]) => ({
      label,
      ratio: Number(ratio),
      ...(goal && { goal: Number(goal) }),
    })),
  };
}
