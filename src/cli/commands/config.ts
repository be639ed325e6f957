import { shortPath } from '../../app/format.js';
import { listSettings } from '../../app/list-settings.js';
import {
  approve,
  describeSearch,
  findConfigs,
  loadConfig,
  readConfig,
  realPlace,
} from '../../config/find.js';
import { GraphException } from '../../core/errors.js';
import type { Invocation } from '../command.js';
import { settingsInput } from '../context.js';
import { confirm, prompterOf } from '../output/prompt.js';
import { printList } from '../output/table.js';
import { noteLeftOut, openLocalRun } from '../session.js';
import { canAsk, describeFile, describeUse } from '../trust-prompt.js';

export async function show(invocation: Invocation): Promise<undefined> {
  const run = await openLocalRun(invocation);
  const { settings, untrusted } = run;
  const { ctx, report } = invocation;
  const { file } = settings;
  const rows = listSettings(run);
  noteLeftOut(settings, report);
  const lines = rows.map(({ name, value, source, shadowed }) => {
    const others = shadowed.map((other) => `${other.value} (${other.source})`);
    return [name, value, source, others.join(', ') || '-'];
  });
  await printList(invocation, {
    document: { file: file?.path ?? null, trusted: untrusted === undefined, settings: rows },
    head: ['SETTING', 'VALUE', 'SOURCE', 'SHADOWED'],
    rows: [['config file', file ? shortPath(file.path, ctx.home) : 'none', '-', '-'], ...lines],
    shrinkOrder: [3, 2, 1],
  });
}

export async function trust(invocation: Invocation): Promise<undefined> {
  const { ctx, args, flags, report } = invocation;
  const config = args[0] ?? flags.config;
  const input = settingsInput({ ctx, flags: { config } });
  const { configDir } = input;
  const hint = 'set HOME (sudo -H), or name the file in each call: --config FILE';
  const homeless = 'There is no home folder to record the trust in.';
  if (configDir === undefined) throw new GraphException('STORE_UNAVAILABLE', homeless, { hint });
  const [found] = findConfigs(input);
  if (!found)
    throw new GraphException('NOT_FOUND', 'There is no config file here.', {
      hint: ['name it', { command: 'config trust FILE' }],
    });
  const real = realPlace(found.path);
  const read = await readConfig({ path: real, place: found.place === 'named' ? 'project' : found.place });
  // The file is checked first, so that only a file that graphcred can use is approved.
  const file = await loadConfig(read);
  // What is approved is shown whole, also with -q.
  for (const line of [...describeFile(file), ...describeUse(file)]) ctx.stderr.write(`graphcred: ${line}\n`);
  const canPrompt = canAsk(invocation, settingsInput(invocation));
  const asker = { canPrompt, prompter: prompterOf(invocation) };
  await confirm(invocation, asker, 'Trust it until its content changes?', 'Nothing was trusted.');
  approve(real, read.bytes, configDir);
  report.done({ file: real, trusted: true }, `Trusted until its content changes: ${real}`);
}

export async function where(invocation: Invocation): Promise<undefined> {
  const { settings, search, untrusted } = await openLocalRun(invocation);
  if (!settings.file) {
    const why = untrusted?.message ?? 'No config file is used here.';
    const looked = `${why} Looked for ${describeSearch(search)}.`;
    const hint = untrusted?.fix ?? ['make one', { command: 'login' }];
    throw new GraphException('NOT_FOUND', looked, { hint });
  }
  const file = settings.file.path;
  invocation.report.show({ file, trusted: untrusted === undefined }, file);
}
