import type { ConfigKey } from '../../../config/schema.js';
import type { SourcedValue } from '../../../config/settings.js';
import type { Call } from '../../call.js';
import { openSettings } from '../../session.js';
import { table } from '../../table.js';

const CREDENTIALS: readonly string[] = ['password', 'secret'];

/** `graphcred config show` */
export async function run(call: Call): Promise<undefined> {
  const { settings } = await openSettings(call);
  const { file, profile } = settings;
  const rows = [
    { name: 'profile', value: profile.name, source: profile.source, shadowed: profile.shadowed },
    ...(Object.keys(settings.all) as ConfigKey[]).flatMap((key) => {
      const [first, ...rest] = settings.all[key].map((said) => shown(key, said));
      return first ? [{ name: key, ...first, shadowed: rest }] : [];
    }),
  ];
  if (call.report.json) {
    call.report.document({ file: file?.path ?? null, trusted: file?.trusted ?? true, settings: rows });
    return;
  }
  const where = file ? `${file.path}${file.trusted ? '' : ' (not trusted)'}` : 'none';
  const lines = rows.map(({ name, value, source, shadowed }) => [
    name,
    value,
    source,
    shadowed.map((other) => `${other.value} (${other.source})`).join(', ') || '-',
  ]);
  const shownTable = table(['SETTING', 'VALUE', 'SOURCE', 'SHADOWED'], lines, {
    width: call.ctx.stdout.columns,
    giving: [3, 2, 1],
  });
  call.report.result(`config file: ${where}\n${shownTable}`);
}

interface Shown {
  value: string;
  source: string;
}

function shown(key: ConfigKey, said: SourcedValue): Shown {
  const value = typeof said.value === 'string' ? said.value : said.value.join(' ');
  // An address with a user name in it is refused when it is used, but it is shown here before that.
  const harmless = value.replace(/\/\/[^/@]*@/, '//****@');
  return { value: CREDENTIALS.includes(key) ? 'set' : harmless, source: said.source };
}
