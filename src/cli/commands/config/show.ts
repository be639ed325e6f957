import path from 'node:path';
import { shortPath } from '../../../app/format.js';
import type { StoreInForce } from '../../../auth/stores.js';
import {
  type ConfigKey,
  defaultMinTtl,
  isLiteralCredential,
  labelOf,
  parseDuration,
  type Settings,
  type SourcedValue,
} from '../../../config/keys.js';
import { hiddenUserConfig, settingText } from '../../../config/settings.js';
import { describePair, targetOf } from '../../../config/target.js';
import { unknownVariables } from '../../../config/unknown-variables.js';
import { CLOUD_PORT, type Endpoints, isCloud } from '../../../core/endpoints.js';
import { GraphException } from '../../../core/errors.js';
import { maskLogin } from '../../../core/redact.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { settingsInput } from '../../context.js';
import { singleLine } from '../../output/report.js';
import { table } from '../../output/table.js';
import { openLocalRun, untrustedFile } from '../../session.js';

const REDIS_PASSWORD = 'GRAPHCRED_REDIS_PASSWORD';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openLocalRun(invocation);
  const { ctx, report } = invocation;
  const { settings, stores } = run;
  const { inForce: store, configDir = '' } = stores;
  const { file, profile, database } = settings;
  // A malformed address is shown as it is.
  const { endpoints } = database instanceof GraphException ? {} : database;
  const replaced = endpoints ? addressKeysNotInForce(endpoints) : [];
  const inCloud = isCloud(endpoints?.gsqlUrl ?? endpoints?.host ?? '');
  const defaults = [minTtlOf(settings), storeOf(store)];
  const rows = [
    { name: 'profile', value: profile.name, source: profile.source, shadowed: profile.shadowed },
    ...(Object.keys(settings.all) as ConfigKey[]).flatMap((key) => {
      if (replaced.includes(key)) return [];
      const [first, ...rest] = settings.all[key].map((setting) => describeSetting(key, setting, inCloud));
      const inForce = first ?? defaults.find(({ name }) => name === key);
      return inForce ? [{ name: key as string, ...inForce, shadowed: rest }] : [];
    }),
    // No config file may have this one, so it is not in the table of settings.
    ...(ctx.env[REDIS_PASSWORD]
      ? [{ name: 'redis.password', value: 'set', source: REDIS_PASSWORD, shadowed: [] }]
      : []),
  ];
  for (const name of unknownVariables(ctx.env))
    report.note(`${name} is not read; for every variable: graphcred help environment`);
  noteLeftOut(settings, report);
  if (report.json) {
    const trusted = (await untrustedFile(invocation)) === undefined;
    report.document({ file: file?.path ?? null, trusted, settings: rows });
    return;
  }
  const where = file?.path ?? 'none';
  const hiddenConfig = hiddenUserConfig(settingsInput(invocation), file);
  if (hiddenConfig !== undefined)
    report.note(
      `${where} hides your own profiles in ${hiddenConfig}; to use those: --config ${shellWord(hiddenConfig)}`,
    );
  const { home, stdout } = ctx;
  const inFile = (source: string) => {
    const isOfFile = /^(profile |defaultProfile$|config file$)/.test(source);
    const at = source === 'login' ? path.join(configDir, 'store') : isOfFile ? file?.path : undefined;
    return at === undefined ? source : `${source}, ${shortPath(at, home)}`;
  };
  const lines = rows.map(({ name, value, source, shadowed }) => [
    name,
    value,
    inFile(source),
    shadowed.map((other) => `${other.value} (${inFile(other.source)})`).join(', ') || '-',
  ]);
  const shownTable = table(['SETTING', 'VALUE', 'SOURCE', 'SHADOWED'], lines, {
    width: stdout.columns,
    shrinkOrder: [3, 2, 1],
  });
  report.result(`config file: ${singleLine(where)}\n${shownTable}`);
}

function noteLeftOut(settings: Settings, report: Invocation['report']): void {
  if (settings.database instanceof GraphException) report.warn(settings.database.message);
  for (const { source, pair, set } of settings.leftOut)
    report.note(
      `${source} is for ${describePair(pair)}, not for ${describePair(targetOf(settings))}, so these settings do not count: ${set.map(({ key, value }) => labelOf(key, value)).join(', ')}`,
    );
}

function minTtlOf(settings: Settings) {
  const lifetime = parseDuration(settingText(settings, 'lifetime') ?? '');
  const value = lifetime === undefined ? 'unknown' : `${defaultMinTtl(lifetime)}`;
  return { name: 'minTtl', value, source: 'default' };
}

function storeOf({ name, isRecorded }: StoreInForce) {
  return { name: 'store', value: name, source: isRecorded ? 'login' : 'default' };
}

/** Returns the address settings that another one has replaced. */
function addressKeysNotInForce({ gsqlUrl, restUrl }: Endpoints): ConfigKey[] {
  const byUrl: ConfigKey[] = gsqlUrl === undefined ? ['gsqlUrl'] : ['host', 'gsqlPort'];
  return [...byUrl, restUrl === undefined ? 'restUrl' : 'restPort'];
}

function describeSetting(key: ConfigKey, { value, level, source }: SourcedValue, inCloud: boolean) {
  if (inCloud && level === 'default' && (key === 'gsqlPort' || key === 'restPort'))
    return { value: String(CLOUD_PORT), source };
  const text = typeof value === 'string' ? value : value.join(' ');
  const isShown = key === 'redis.url' || !isLiteralCredential(key, text);
  return { value: isShown ? maskLogin(text) : 'set', source };
}
