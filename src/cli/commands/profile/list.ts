import { knownVersion } from '../../../auth/connect.js';
import type { LocalRun } from '../../../auth/run.js';
import { defaultProfileOf } from '../../../config/keys.js';
import { hiddenUserConfig, settingsOfFile, settingText } from '../../../config/settings.js';
import { targetOf } from '../../../config/target.js';
import { serversOf } from '../../../core/endpoints.js';
import { GraphException } from '../../../core/errors.js';
import { maskLogin } from '../../../core/redact.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { settingsInput } from '../../context.js';
import { printList } from '../../output/table.js';
import { openLocalRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openLocalRun(invocation, { anyProfile: true });
  const { file } = run.settings;
  const hiddenConfig = hiddenUserConfig(settingsInput(invocation), file);
  const defaultProfile = defaultProfileOf(file?.config);
  const profiles = [...(file?.config.profiles ?? [])].map(([name, values]) => ({
    name,
    default: name === defaultProfile,
    // As it is written, in case no address can be read from it.
    host: maskLogin(String(values.gsqlUrl ?? values.host ?? values.restUrl ?? '')),
    ...addressesOf(run, name),
    graph: values.graph === undefined ? null : String(values.graph),
    username: values.username === undefined ? null : String(values.username),
  }));
  if (hiddenConfig !== undefined)
    invocation.report.note(
      `${file?.path} hides your own profiles in ${hiddenConfig}; to list those: --config ${shellWord(hiddenConfig)}`,
    );
  const rows = profiles.map(({ name, host, gsqlUrl, restUrl, graph, username, ...one }) => {
    const cells = [name, gsqlUrl ?? host, restUrl, graph, username];
    return [one.default ? '*' : '', ...cells.map((cell) => cell || '-')];
  });
  await printList(invocation, {
    document: { file: file?.path ?? null, profiles },
    head: ['', 'PROFILE', 'GSQL SERVER', 'REST SERVER', 'GRAPH', 'USER'],
    rows,
    shrinkOrder: [3, 2, 4, 5, 1],
    none: ['there are no profiles; make one', { command: 'login' }],
  });
}

/**
 * Returns the addresses of a profile: null where one is malformed, and that of the REST server also where it depends on
 * the server's version, which is neither set nor cached. The host is without a port.
 */
function addressesOf(run: LocalRun, profile: string) {
  try {
    const settings = settingsOfFile(run.settings.file, profile);
    const { endpoints, host, gsqlUrl, restUrl } = targetOf(settings);
    const version = knownVersion(run, gsqlUrl, settingText(settings, 'serverVersion') ?? 'auto');
    return { host, gsqlUrl, restUrl: restUrl ?? (version && serversOf(endpoints, version).restUrl) ?? null };
  } catch (error) {
    if (error instanceof GraphException) return { gsqlUrl: null, restUrl: null };
    throw error;
  }
}
