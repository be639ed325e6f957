// Measures what a call of graphcred costs compared with starting Node itself; see docs/dev/performance.md.
// npm run bench                       prints the table; with --write it also writes docs/dev/performance.{md,svg}
// npm run bench -- --gate             exits with 1 if a row is beyond three times its goal
// --rounds N  --node PATH  --bin FILE  --out FOLDER (bench.json and bench.md)
// Needs python3 (wait4) and a built graphcred. Each row is the median of its ratios to `node -e 0` of the same round.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureProxy } from './proxy.mjs';
import { markdown, readTable, svg, withRun } from './report.mjs';
import { buildEager, buildKeychainParts, buildStandalone } from './variants.mjs';
import { ghHome, makeHome, makeSecret, startKeychain, startRedis, startServer, talker } from './world.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '20' },
    node: { type: 'string', default: process.execPath },
    bin: { type: 'string', default: path.join(root, 'bin/graphcred.js') },
    out: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const { node, bin } = options;
const AT_ONCE = 50;
/** The gate is for programs that load too much, which are beyond four times. A busy machine measures up to twice what an idle one does. */
const ROOM = 3;

/** The goals, on Node 24: a multiple of the time of `node -e 0`, and the MB of peak memory in addition to its own. */
const GOALS = {
  version: { ratio: 1.15 },
  help: { ratio: 1.6 },
  'warm-file': { ratio: 1.5, extraMb: 10 },
  'warm-secret': { ratio: 1.5 },
  'warm-header': { ratio: 1.5 },
  'warm-json': { ratio: 1.5 },
  'warm-keychain': { ratio: 2.1 },
  cold: { ratio: 2.1, extraMb: 12 },
  exec: { ratio: 2.2 },
  status: { ratio: 2.5 },
  'secret-list': { ratio: 2.3 },
  'one-warm': { ratio: 0.5 },
};
const AT_ONCE_GOAL = 1.6;
const GH_GOAL = 0.8;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-bench-'));
// Settings of the person who runs this are left out: NODE_EXTRA_CA_CERTS alone triples the start time of Node 20.
const base = { PATH: process.env.PATH, LANG: 'C.UTF-8' };
const running = [];
let failed = false;
try {
  failed = await bench();
} finally {
  for (const one of running) one.stop?.();
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
process.exitCode = failed ? 1 : 0;

async function bench() {
  const meter = keep(talker('python3', [path.join(root, 'bench/measure.py')]));
  const { commands, skipped, versions, server } = await prepare(meter);
  const floor = commands[0];
  const samples = new Map(commands.map(({ id }) => [id, []]));
  // The first two rounds fill the disk cache and are not counted.
  for (let round = -2; round < rounds; round++) {
    for (const command of shuffled(commands)) {
      const sample = await measure(meter, command);
      if (round >= 0) samples.get(command.id).push(sample);
    }
  }
  const base0 = samples.get(floor.id);
  const rows = commands.map(({ id, label }) => {
    const own = samples.get(id);
    const ratio = (of, to) => median(of.map((sample, round) => sample.cpu / to[round].cpu));
    const goal = GOALS[id];
    return {
      id,
      label,
      cpuMs: median(own.map(({ cpu }) => cpu)),
      wallMs: median(own.map(({ wall }) => wall)),
      rssMb: median(own.map(({ rss }) => rss)),
      extraMb: median(own.map(({ rss }, round) => rss - base0[round].rss)),
      ratio: ratio(own, base0),
      ...(goal && { goal: goal.ratio }),
      ...(goal?.extraMb && { goalExtraMb: goal.extraMb }),
    };
  });
  const { env, cwd } = commands.find(({ id }) => id === 'warm-file');
  const extras = [
    await atOnce(meter, floor, commands),
    ...(await measureProxy({ node, bin, env, cwd, server, rounds, median })),
  ];
  if (samples.has('gh')) {
    const ratio = median(samples.get('warm-file').map(({ cpu }, i) => cpu / samples.get('gh')[i].cpu));
    extras.push({
      id: 'gh',
      label: 'warm `token get`, file store, against `gh auth token`',
      ratio,
      goal: GH_GOAL,
    });
  }
  const result = { machine: machine(versions), rounds, rows, extras, skipped };
  const text = markdown(result);
  process.stdout.write(text);
  if (options.out) {
    fs.mkdirSync(options.out, { recursive: true });
    fs.writeFileSync(path.join(options.out, 'bench.json'), `${JSON.stringify(result, null, 2)}\n`);
    fs.writeFileSync(path.join(options.out, 'bench.md'), text);
  }
  if (options.write) writeDocs(result);
  return options.gate && beyond(result);
}

/** Returns the rows. Each command is called once, to prepare what the next ones need. The first row is the one that the others are compared with. */
async function prepare(meter) {
  const env = { ...base, HOME: folder };
  const [three, four] = await Promise.all(
    ['3.10.1', '4.1.2'].map((version) => startServer(node, bin, version, env).then(keep)),
  );
  const eager = await buildEager(folder);
  const skipped = [];
  const commands = [{ id: 'node', label: '`node -e 0`', argv: [node, '-e', '0'], env, cwd: folder }];
  const add = (id, label, argv, own, cwd, command = [node, bin]) =>
    commands.push({ id, label, argv: [...command, ...argv], env: own, cwd, prints: true });
  const home = (name, server, format = 'json') => {
    const dir = path.join(folder, name);
    return [{ ...base, HOME: dir, GRAPHCRED_STORE: 'file' }, makeHome(dir, server, format)];
  };
  const file = home('file', three);
  const v4 = home('v4', four);
  add('version', '`--version`', ['--version'], ...file);
  add('help', '`--help`', ['--help'], ...file);
  add('warm-file', 'warm `token get`, file store, user and password', ['token', 'get'], ...file);
  const secret = await makeSecret(three);
  const [fileEnv, fileCwd] = file;
  const withSecret = { ...fileEnv, GRAPHCRED_SECRET: secret };
  add('warm-secret', 'the same, a secret in a variable', ['token', 'get'], withSecret, fileCwd);
  add('warm-header', 'the same, `-o header`', ['token', 'get', '-o', 'header'], ...file);
  add('warm-json', 'the same, `-o json`', ['token', 'get', '-o', 'json'], ...file);
  add('exec', 'warm `exec -- sh -c "echo 0"`', ['exec', '--', 'sh', '-c', 'echo 0'], ...file);
  add('status', '`status`', ['status'], ...file);
  add('secret-list', '`secret list`', ['secret', 'list'], ...file);

  const keychain = await startKeychain(path.join(folder, 'keychain'), base);
  if (keychain.reason) skipped.push(`keychain: ${keychain.reason}`);
  else {
    keep(keychain);
    const cwd = makeHome(path.join(folder, 'keychain'), three, 'json');
    const own = { ...keychain.env, GRAPHCRED_STORE: 'keychain' };
    add('warm-keychain', 'warm `token get`, keychain', ['token', 'get'], own, cwd);
    const parts = await buildKeychainParts(folder);
    add('probe', 'of that, the question over D-Bus, as a script', [], own, cwd, [node, parts.probe]);
    add('native', 'instead, the native module and one read, as a script', [], own, cwd, [node, parts.native]);
  }
  const redis = await startRedis(path.join(folder, 'redis-server'), base);
  if (redis.reason) skipped.push(`Redis: ${redis.reason}`);
  else {
    keep(redis);
    const shared = path.join(folder, 'redis');
    const cwd = makeHome(shared, three, 'json');
    const from = (env) => [['token', 'get'], { ...env, HOME: shared }, cwd];
    add('warm-redis', 'warm `token get`, Redis on this machine', ...from(redis.plain));
    add('warm-redis-tls', 'the same, with TLS', ...from(redis.tls));
  }
  const once = ['token', 'get', '--server-version', '4', '--fresh', '--store', 'none'];
  add('cold', 'cold `token get --server-version 4`, one call, plain HTTP', once, ...v4);
  add(
    'warm-yaml',
    'warm `token get`, file store, settings in YAML',
    ['token', 'get'],
    ...home('yaml', three, 'yaml'),
  );
  const eagerly = [node, eager];
  add('eager-version', 'eager build: `--version`', ['--version'], ...file, eagerly);
  add('eager-warm', 'eager build: warm `token get`, file store', ['token', 'get'], ...file, eagerly);
  add('eager-cold', 'eager build: cold `token get`', once, ...v4, eagerly);

  const one = buildStandalone(folder);
  if (one.reason) skipped.push(`the standalone executable: ${one.reason}`);
  else {
    add('one-version', 'standalone: `--version`', ['--version'], ...file, [one.file]);
    add('one-warm', 'standalone: warm `token get`, file store', ['token', 'get'], ...file, [one.file]);
    add('one-cold', 'standalone: cold `token get`', once, ...v4, [one.file]);
  }

  const gh = ghHome(folder, base);
  if (gh.reason) skipped.push(`\`gh auth token\`: ${gh.reason}`);
  else
    commands.push({
      id: 'gh',
      label: '`gh auth token`',
      argv: ['gh', 'auth', 'token'],
      env: gh.env,
      cwd: folder,
      prints: true,
    });
  for (const command of commands) await measure(meter, command);
  return { commands, skipped, versions: gh.version ? [gh.version] : [], server: three };
}

async function measure(meter, { label, argv, env, cwd, prints }) {
  const sample = await meter.ask({ argv, env, cwd });
  if (sample.status !== 0 || (prints && sample.out === 0))
    throw new Error(`${label} failed: ${sample.status}`);
  return sample;
}

/** Measures the elapsed time of fifty processes at once: the one row in which waiting for each other counts. */
async function atOnce(meter, floor, commands) {
  const warm = commands.find(({ id }) => id === 'warm-file');
  const ratios = [];
  for (let round = 0; round < Math.max(5, rounds / 2); round++) {
    const wall = new Map();
    for (const { id, argv, env, cwd } of shuffled([floor, warm])) {
      const { wall: ms, status } = await meter.ask({ argv, env, cwd, times: AT_ONCE });
      if (status !== 0) throw new Error(`one of ${AT_ONCE} at once failed: ${status}`);
      wall.set(id, ms);
    }
    ratios.push(wall.get(warm.id) / wall.get(floor.id));
  }
  const label = `${AT_ONCE} warm \`token get\` at once, wall, against ${AT_ONCE} × \`node -e 0\``;
  return { id: 'at-once', label, ratio: median(ratios), goal: AT_ONCE_GOAL };
}

function beyond({ rows, extras }) {
  const slips = [...rows, ...extras].flatMap(({ label, ratio, goal, extraMb, goalExtraMb }) => [
    ...(ratio > goal * ROOM ? [`${label}: ${ratio.toFixed(2)} × instead of ${goal} ×`] : []),
    ...(extraMb > goalExtraMb * ROOM
      ? [`${label}: +${extraMb.toFixed(1)} MB instead of +${goalExtraMb} MB`]
      : []),
  ]);
  for (const slip of slips) console.error(`beyond ${ROOM} times its goal: ${slip}`);
  return slips.length > 0;
}

function machine(versions) {
  const { node: version } = JSON.parse(
    execFileSync(node, ['-p', 'JSON.stringify(process.versions)'], { env: base, encoding: 'utf8' }),
  );
  const cpus = os.cpus();
  const { version: own } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  return {
    node: version,
    graphcred: own,
    cpu: `${cpus.length} × ${cpus[0].model.trim()}`,
    memoryGib: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    others: versions,
  };
}

/** Writes the run into its column of the table in docs/dev/performance.md, and the picture made from that table. */
function writeDocs(result) {
  const file = path.join(root, 'docs/dev/performance.md');
  const [, head, table, tail] = /^([\s\S]*<!-- bench: .*-->\n)([\s\S]*)(<!-- end of bench -->[\s\S]*)$/.exec(
    fs.readFileSync(file, 'utf8'),
  );
  const text = withRun(table, result);
  fs.writeFileSync(file, `${head}${text}${tail}`);
  fs.writeFileSync(path.join(root, 'docs/dev/performance.svg'), svg(readTable(text)));
}

function keep(one) {
  running.push(one);
  return one;
}

function shuffled(list) {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
