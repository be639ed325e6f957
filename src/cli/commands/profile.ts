import { shortPath, stored } from '../../app/format.js';
import { deleteEntries, planRemoval } from '../../app/login/log-out.js';
import { hidesOwn, noSuchProfile } from '../../config/errors.js';
import { hiddenUserConfig } from '../../config/find.js';
import { defaultProfileOf } from '../../config/keys.js';
import { removeProfile, writeDefaultProfile } from '../../config/write.js';
import { maskLogin } from '../../core/redact.js';
import { type LocalRun, runOfProfile } from '../../run/run.js';
import { knownPair } from '../../run/server.js';
import type { Invocation } from '../command.js';
import { confirm, requireYes } from '../output/prompt.js';
import { printList } from '../output/table.js';
import { openLocalRun } from '../session.js';

export async function list(invocation: Invocation): Promise<undefined> {
  const run = await openLocalRun(invocation, { profile: 'any' });
  const { file } = run.settings;
  const hiddenConfig = hiddenUserConfig(run.search, file);
  const defaultProfile = defaultProfileOf(file?.config);
  const profiles = [...(file?.config.profiles ?? [])].map(([name, values]) => {
    const its = runOfProfile(run, name);
    // The address of the REST server may depend on the server's version, which is neither set nor cached.
    const { gsqlUrl = null, restUrl = null } = its ? knownPair(its) : {};
    // The host is shown as it is written, in case no address can be read from it.
    const host = its?.target.host ?? maskLogin(String(values.gsqlUrl ?? values.host ?? values.restUrl ?? ''));
    const { graph = null, username = null } = values as Readonly<Record<string, string | undefined>>;
    return { name, default: name === defaultProfile, host, gsqlUrl, restUrl, graph, username };
  });
  if (hiddenConfig !== undefined) invocation.report.note(hidesOwn(file?.path, hiddenConfig));
  await printList(invocation, {
    document: { file: file?.path ?? null, profiles },
    head: ['', 'PROFILE', 'GSQL SERVER', 'REST SERVER', 'GRAPH', 'USER'],
    rows: profiles.map(({ name, host, gsqlUrl, restUrl, graph, username, ...one }) => [
      one.default ? '*' : '',
      ...[name, gsqlUrl ?? host, restUrl, graph, username].map((cell) => cell || '-'),
    ]),
    shrinkOrder: [3, 2, 4, 5, 1],
    none: hiddenConfig
      ? [`${file?.path} has no profiles`]
      : ['there are no profiles; make one', { command: 'login' }],
  });
}

export async function use(invocation: Invocation): Promise<undefined> {
  const { report, args, ctx } = invocation;
  const [name = ''] = args;
  const { settings } = await openLocalRun(invocation, { profile: 'any' });
  const run = await openOwnProfile(invocation, name);
  const { file } = run.settings;
  const written = await writeDefaultProfile(run.stores.requireFolder('configDir'), name);
  if (settings.file && settings.file.path !== file?.path) report.warn(hidesOwn(settings.file.path, written));
  const done = `The default profile is now "${name}" (${shortPath(written, ctx.home)}).`;
  report.done({ defaultProfile: name, file: written }, done);
}

export async function remove(invocation: Invocation): Promise<undefined> {
  const [name = ''] = invocation.args;
  const run = await openOwnProfile(invocation, name);
  const { ctx, report } = invocation;
  const { profileNames } = run.settings;
  const byYes = ['to confirm it', { command: `profile remove ${name} --yes` }];
  requireYes(invocation, run.ports, `Removing profile "${name}"`, byYes);
  const others = profileNames.filter((other) => other !== name);
  const its = runOfProfile(run, name);
  const runs = new Map(others.map((other) => [other, runOfProfile(run, other)]));
  const { entries = [], sharedWith } = its ? await planRemoval(its, runs) : {};
  if (sharedWith !== undefined)
    report.note([
      `tokens and saved credentials stay, because profile "${sharedWith}" may use them too; to delete them`,
      { command: `logout -p ${sharedWith}` },
    ]);
  if (entries.some(({ record }) => Number(record.expiresAtUnix) > ctx.now() / 1000))
    report.note('the server accepts removed tokens until they expire; next time, run logout --revoke first');
  const tokens = entries.filter(({ record }) => record.kind === 'token').length;
  const forgotten = { tokens, credentials: entries.length - tokens };
  const goes = stored(tokens, forgotten.credentials);
  const andListed = goes && `, and on this machine ${goes}`;
  await confirm(invocation, run.ports, `Remove profile "${name}"${andListed}?`, 'Nothing was removed.');
  if (its) await deleteEntries(its, entries);
  const file = await removeProfile(run.stores.requireFolder('configDir'), name);
  const done = `Removed profile "${name}" from ${shortPath(file, ctx.home)}${andListed}.`;
  report.done({ removed: name, file, forgotten }, done);
}

/** Opens the user's own config file, which alone is changed, at one of its profiles. @throws GraphException NOT_FOUND */
async function openOwnProfile(invocation: Invocation, name: string): Promise<LocalRun> {
  const own = await openLocalRun(invocation, { profile: 'own', moreFlags: { profile: name } });
  const { file, profileNames } = own.settings;
  if (profileNames.includes(name)) return own;
  throw noSuchProfile(name, '', file);
}
