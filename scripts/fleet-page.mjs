// Makes the table of sizes in docs/fleet.md: how many jobs an hour a server allows, by the lifetime of the tokens.

const HOUR = 3600;
/** A 3.x server has room for this many tokens, and removes the expired ones every so often. */
const CATALOGUE = { tokens: 60_000, clearedEverySeconds: 3 * HOUR };
/** A 4.x server remembers this many revoked tokens, each until it expires. */
const BLOCK_LIST = 20;
const LIFETIMES = {
  '15m': HOUR / 4,
  '1h': HOUR,
  '12h': 12 * HOUR,
  '1d': 24 * HOUR,
  '7d': 168 * HOUR,
  '30d': 720 * HOUR,
};

export function sizes() {
  const rows = Object.entries(LIFETIMES).map(([name, seconds]) => [
    name,
    whole((CATALOGUE.tokens * HOUR) / (seconds + CATALOGUE.clearedEverySeconds)),
    rounded((BLOCK_LIST * HOUR) / seconds),
    rounded(HOUR / (seconds - Math.min(60, seconds / 10))),
  ]);
  const head = [
    'lifetime',
    '3.x: mints an hour that fill the catalogue',
    '4.x: revocations an hour that fill the block list',
    'shared: mints an hour for each identity, however many jobs',
  ];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

const whole = (number) => Math.round(number).toLocaleString('en-US');
const rounded = (number) => (number < 10 ? Number(number.toPrecision(2)).toString() : whole(number));
