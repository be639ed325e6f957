import { defaultProfileOf } from '../../../config/keys.js';
import { maskLogin } from '../../../core/redact.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { table } from '../../output/table.js';
import { openLocalSession } from '../../session.js';

/** Runs `graphcred profile list`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { report, ctx } = invocation;
  const { settings, hiddenConfig } = await openLocalSession(invocation, { anyProfile: true });
  const { file } = settings;
  const defaultProfile = defaultProfileOf(file?.config);
  const profiles = [...(file?.config.profiles ?? [])].map(
    ([name, { host, gsqlUrl, restUrl, graph, username }]) => ({
      name,
      default: name === defaultProfile,
      host: maskLogin(String(gsqlUrl ?? host ?? restUrl ?? '')),
      graph: graph === undefined ? null : String(graph),
      username: username === undefined ? null : String(username),
    }),
  );
  if (hiddenConfig !== undefined)
    report.note(
      `${file?.path} hides your own profiles in ${hiddenConfig}; to list those: --config ${shellWord(hiddenConfig)}`,
    );
  if (report.json) {
    report.document({ file: file?.path ?? null, profiles });
    return;
  }
  if (profiles.length === 0) {
    report.note('there are no profiles; make one: graphcred login');
    return;
  }
  const rows = profiles.map((one) => [
    one.default ? '*' : '',
    one.name,
    one.host || '-',
    one.graph ?? '-',
    one.username ?? '-',
  ]);
  report.result(
    table(['', 'PROFILE', 'SERVER', 'GRAPH', 'USER'], rows, {
      width: ctx.stdout.columns,
      shrinkOrder: [2, 3, 4, 1],
    }),
  );
}
