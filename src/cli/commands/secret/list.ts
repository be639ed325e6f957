import type { Call } from '../../call.js';
import { loggedIn } from '../../login.js';
import { table } from '../../table.js';

/** `graphcred secret list` */
export async function run(call: Call): Promise<undefined> {
  const { session, connection } = await loggedIn(call);
  const secrets = await connection.listSecrets();
  // By code point: the same order on every machine, whatever its language.
  secrets.sort((a, b) => (a.alias < b.alias ? -1 : a.alias > b.alias ? 1 : 0));
  if (call.report.json) {
    call.report.document({
      secrets: secrets.map(({ alias, masked, graph }) => ({ alias, masked, graph: graph ?? null })),
    });
    return;
  }
  if (secrets.length === 0) {
    call.report.note(
      `there are no secrets${session.graph ? ` on graph ${session.graph}` : ''}; make one: graphcred secret create NAME`,
    );
    return;
  }
  call.report.result(
    table(
      ['ALIAS', 'SECRET', 'GRAPH'],
      secrets.map(({ alias, masked, graph }) => [alias, masked, graph ?? '-']),
      { width: call.ctx.stdout.columns, giving: [2, 0] },
    ),
  );
}
