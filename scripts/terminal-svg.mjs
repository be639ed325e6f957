// Draws a terminal's screen as a picture: a window with its own background, which is readable on any page, with every run of characters at a fixed
// position and width, whatever font is used.
import xterm from '@xterm/headless';

const CELL = 8.4;
const LINE = 19;
const MARGIN = 18;
const BAR = 34;
const FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

const COLOURS = ['#3b4252', '#ff7b86', '#8fd694', '#f2cc71', '#82aaff', '#d6a3ff', '#7fdbda', '#d8dee9'];
const BRIGHT = ['#7b869d', '#ff9aa2', '#b1ecb5', '#ffe08f', '#a5c3ff', '#e5c3ff', '#a5f0ef', '#ffffff'];
const PALETTE = [...COLOURS, ...BRIGHT];
const TEXT = '#d8dee9';
const BACKGROUND = '#1b2130';

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const round = (number) => Number(number.toFixed(1));

/**
 * Draws the screen.
 * @param bytes what programs wrote to the terminal
 * @returns the picture, as tall as what is on the screen
 */
export async function terminalSvg(bytes, { columns, title }) {
  const terminal = new xterm.Terminal({ cols: columns, rows: 200, scrollback: 0, allowProposedApi: true });
  await new Promise((resolve) => terminal.write(bytes, resolve));
  const lines = Array.from({ length: 200 }, (_, y) => terminal.buffer.active.getLine(y));
  const text = lines.map((line) => line.translateToString(true));
  const height = text.findLastIndex((line) => line !== '') + 1;
  const runs = lines.slice(0, height).flatMap((line, y) => runsOf(line, columns).map((run) => draw(run, y)));
  const wide = round(columns * CELL + 2 * MARGIN);
  const high = round(BAR + height * LINE + MARGIN);
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, at) => `<circle cx="${MARGIN + 6 + at * 18}" cy="${BAR / 2 + 1}" r="5.5" fill="${colour}"/>`,
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" role="img" aria-labelledby="title text">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="text">${escaped(text.slice(0, height).join('\n'))}</desc>`,
    `<rect x="0.5" y="0.5" width="${wide - 1}" height="${high - 1}" rx="9" fill="${BACKGROUND}" stroke="#4c566a"/>`,
    ...dots,
    `<g font-family="${FONT}" font-size="14" fill="${TEXT}" xml:space="preserve">`,
    `<text x="${wide / 2}" y="${BAR / 2 + 5.5}" text-anchor="middle" font-size="12.5" fill="#9aa5bd">${escaped(title)}</text>`,
    ...runs,
    '</g>',
    '</svg>',
  ].join('\n')}\n`;
}

/** Groups neighbouring characters of the same style. A symbol that a font may lack or draw wider is a group of its own. */
function runsOf(line, columns) {
  const runs = [];
  for (let x = 0; x < columns; x++) {
    const cell = line.getCell(x);
    const chars = cell.getChars();
    if (cell.getWidth() === 0 || chars === '' || chars === ' ') continue;
    const style = styleOf(cell);
    const last = runs.at(-1);
    const simple = /^[\x21-\x7e]$/.test(chars);
    const gap = last && ' '.repeat(x - last.x - last.chars.length);
    if (simple && last?.simple && last.style === style && gap.length < 2) last.chars += gap + chars;
    else runs.push({ x, chars, style, simple, cells: cell.getWidth() });
  }
  return runs;
}

function styleOf(cell) {
  const colour = cell.isFgPalette() ? PALETTE[cell.getFgColor()] : undefined;
  return [
    colour && `fill="${colour}"`,
    cell.isBold() && 'font-weight="600"',
    cell.isDim() && 'opacity="0.6"',
    cell.isUnderline() && 'text-decoration="underline"',
  ]
    .filter(Boolean)
    .map((attribute) => ` ${attribute}`)
    .join('');
}

function draw({ x, chars, style, simple, cells }, y) {
  const left = MARGIN + x * CELL;
  const base = round(BAR + (y + 0.74) * LINE);
  if (!simple)
    return `<text x="${round(left + (cells * CELL) / 2)}" y="${base}" text-anchor="middle"${style}>${escaped(chars)}</text>`;
  const length = round(chars.length * CELL);
  return `<text x="${round(left)}" y="${base}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${style}>${escaped(chars)}</text>`;
}
