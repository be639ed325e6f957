import { openLogin } from '../../../app/gsql-login.js';
import { savedAmong } from '../../../app/secrets/saved-secrets.js';
import { graphOf } from '../../../auth/run.js';
import type { Invocation } from '../../command.js';
import { printList } from '../../output/table.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const login = await openLogin(await openRun(invocation));
  const { run, connection, version } = login;
  const secrets = await connection.listSecrets();
  // Aliases are sorted by code point, so that the order does not depend on the machine's language.
  secrets.sort((a, b) => (a.alias < b.alias ? -1 : a.alias > b.alias ? 1 : 0));
  const saved = await savedAmong(login, secrets);
  const listed = secrets.map((one) => ({
    alias: one.alias,
    masked: one.masked,
    graph: one.graph ?? null,
    saved: saved.has(one),
  }));
  const where = version.secretsNeedGraph ? ` on graph ${graphOf(run)}` : '';
  await printList(invocation, {
    tones: secrets.map((one) => (saved.has(one) ? 'good' : 'dim')),
    document: { secrets: listed },
    head: ['ALIAS', 'SECRET', 'GRAPH', 'SAVED'],
    rows: listed.map((one) => [one.alias, one.masked, one.graph ?? '-', one.saved ? 'here' : '-']),
    shrinkOrder: [2, 0],
    none: [`there are no secrets${where}; make one`, { command: 'secret create NAME' }],
  });
}
