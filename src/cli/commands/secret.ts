import { type Login, openLogin } from '../../app/gsql-login.js';
import { createSecret } from '../../app/secrets/create-secret.js';
import { dropEach, dropSecrets, planDrop } from '../../app/secrets/drop-secrets.js';
import { planPrune } from '../../app/secrets/prune-secrets.js';
import { rotateSecret } from '../../app/secrets/rotate-secret.js';
import { tryStore } from '../../app/secrets/save-credential.js';
import { savedAmong } from '../../app/secrets/saved-secrets.js';
import { expected, GraphException, type Hint, usageError } from '../../core/errors.js';
import { isPlainAlias, requirePlainAlias } from '../../core/protocol/gsql.js';
import type { Sensitive } from '../../core/sensitive.js';
import { graphOf } from '../../run/run.js';
import type { Invocation } from '../command.js';
import { singleLine } from '../output/plain.js';
import { confirm, requireYes } from '../output/prompt.js';
import { printList } from '../output/table.js';
import { openRun, skipsMissing } from '../session.js';

export async function list(invocation: Invocation): Promise<undefined> {
  const login = await openLogin(await openRun(invocation));
  const secrets = await login.connection.listSecrets();
  // Aliases are sorted by code point, so that the order does not depend on the machine's language.
  secrets.sort((a, b) => (a.alias < b.alias ? -1 : a.alias > b.alias ? 1 : 0));
  const here = await savedAmong(login, secrets);
  const listed = secrets.map((one) => ({ ...one, graph: one.graph ?? null, saved: here.has(one) }));
  const { secretsOf } = login.run.settings;
  const owner = secretsOf === undefined ? '' : ` of "${secretsOf}"`;
  const where = login.version.secretsNeedGraph ? ` on graph "${graphOf(login.run)}"` : owner;
  await printList(invocation, {
    tones: listed.map(({ saved }) => (saved ? 'good' : 'dim')),
    document: { secrets: listed },
    head: ['ALIAS', 'SECRET', 'GRAPH', 'SAVED'],
    rows: listed.map((one) => [one.alias, one.masked, one.graph ?? '-', one.saved ? 'here' : '-']),
    shrinkOrder: [2, 0],
    none: [`there are no secrets${where}; make one`, { command: 'secret create NAME' }],
  });
}

export async function create(invocation: Invocation): Promise<undefined> {
  const { flags, args, report } = invocation;
  const [wanted] = args;
  if (wanted !== undefined) requirePlainAlias(wanted);
  const save = flags.save === true;
  if (save && wanted === undefined)
    throw usageError('--save needs an alias.', ['name the secret', { command: 'secret create NAME --save' }]);
  if (save && flags.owner !== undefined)
    throw usageError(
      '--save works only for your own secrets.',
      'leave --save out, and give the new secret to its owner',
    );
  if (!save) invocation.ctx.stdout.mustArrive();
  const run = await openRun(invocation);
  // The value is shown only once, so the store is tested before anything is asked or made.
  if (save) await tryStore(run, await run.stores.chosen({ needed: true }));
  const login = await openLogin(run);
  const { alias, value, unsaved } = await createSecret(login, wanted, save);
  // Another request finds out a generated name, and may fail.
  const name = alias ? `secret "${alias}"` : 'the new secret (named in "secret list")';
  const lost = 'the value of the new secret is lost; drop the secret';
  if (!save || unsaved !== undefined)
    printSecret(invocation, { alias }, value, {
      note: `${name}: this is the only time its value is shown`,
      whenLost: [lost, { command: `secret drop ${alias || 'NAME'}` }],
    });
  if (unsaved !== undefined) throw unsaved;
  if (save)
    report.done({ alias, saved: true }, `Secret "${alias}" is saved in the ${login.store.name} store.`);
}

export async function drop(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const aliases = [...new Set(invocation.args)];
  const run = await openRun(invocation, { isStepwise: true });
  const login = await openLogin(run);
  const plan = await planDrop(login, aliases, skipsMissing(invocation));
  if (aliases.length > 1) {
    const question = `Drop ${aliases.length} secrets: ${aliases.join(', ')}?`;
    await confirm(invocation, run.ports, question, 'Nothing was dropped.');
  }
  const outcome = await dropSecrets(login, plan, flags.revoke === true);
  printDropped(invocation, login, outcome);
  const { dropped, missing, failure } = outcome;
  if (failure) throw failure;
  if (missing.length === 0) return;
  const names = missing.join(', ');
  if (skipsMissing(invocation)) return void report.note(`no such secret at ${run.target.gsqlUrl}: ${names}`);
  const code = dropped.length > 0 ? 'PARTIAL' : 'NOT_FOUND';
  const hint = ['see the secrets', { command: 'secret list' }, 'to ignore this: --ignore-missing'];
  throw new GraphException(code, `No such secret: ${names}.`, { hint });
}

export async function prune(invocation: Invocation): Promise<undefined> {
  const { flags, report, ctx } = invocation;
  const run = await openRun(invocation, { isStepwise: true });
  const dryRun = flags['dry-run'] === true;
  const login = await openLogin(run);
  const look = ['look first', { command: 'secret prune --dry-run' }, 'then drop them with --yes'];
  if (!dryRun) requireYes(invocation, run.ports, 'Dropping secrets', look);
  const { unused, unknown } = await planPrune(login);
  if (unused.length > 0 && unknown.length > 0)
    report.warn([
      `profile ${unknown.map((name) => `"${name}"`).join(', ')} may use one of these secrets; to check, look for the value that its secretCommand prints`,
      { command: 'secret list' },
    ]);
  const names = unused.map(singleLine).join('\n');
  if (unused.length === 0 || dryRun) {
    report.show({ dropped: unused, missing: [], dryRun }, names);
    if (names === '' && !report.json) report.note('no unused secret is named AUTO_GENERATED_ALIAS_…');
    return;
  }
  if (flags.yes !== true) {
    // The names are written even with -q, because a person must see them before confirming.
    ctx.stderr.write(`${names}\n`);
    const what = unused.length === 1 ? 'this secret' : `these ${unused.length} secrets`;
    const effect = login.version.tokensOutliveSecret ? '' : '; when one is dropped, its tokens end at once';
    report.warn(`other programs may have made these secrets and still use them${effect}`);
    await confirm(invocation, run.ports, `Drop ${what}?`, 'Nothing was dropped.');
  }
  const outcome = await dropEach(login, unused);
  printDropped(invocation, login, outcome);
  if (outcome.failure) throw outcome.failure;
}

export async function rotate(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const alias = invocation.args[0] as string;
  if (!isPlainAlias(alias))
    throw usageError(`The secret "${alias}" is not rotated: no secret can be created under this name.`, [
      'create one with a name of letters, digits and _',
      { command: 'secret create NAME --save' },
      'then drop the old one',
    ]);
  if (flags.print === true) invocation.ctx.stdout.mustArrive();
  await rotateSecret(await openRun(invocation, { isStepwise: true }), {
    alias,
    revoke: flags.revoke === true,
    requireOutput: () => invocation.ctx.stdout.mustArrive(),
    show: (value, keptIn) => {
      const saved = keptIn !== undefined;
      const news = `has a new value${saved ? `, saved in the ${keptIn} store` : ''}`;
      if (saved && flags.print !== true) return report.done({ alias, saved }, `Secret "${alias}" ${news}.`);
      const another = { command: `secret rotate ${alias} --print` };
      return printSecret(invocation, { alias, saved }, value, {
        note: `secret "${alias}" ${news}; this is the only time it is shown`,
        whenLost: [`the new value of "${alias}" is saved here; to rotate again and print the value`, another],
      });
    },
  });
}

/** Prints the value of a secret, which is shown this once. @throws GraphException USAGE with `whenLost` as its hint */
function printSecret(
  { ctx, report }: Invocation,
  document: Readonly<Record<string, unknown>>,
  value: Sensitive,
  { note, whenLost }: { readonly note: string; readonly whenLost: Hint },
): void {
  const secret = value.reveal();
  try {
    ctx.stdout.mustArrive();
    if (!report.json) report.note(note);
    report.show({ ...document, secret }, secret);
  } catch (error) {
    const { code, message } = expected(error);
    throw new GraphException(code, message, { hint: whenLost });
  }
}

/** Prints what became of secrets. If nothing is known about any of them, there is no result to print. */
function printDropped(
  { report }: Invocation,
  { version }: Login,
  { dropped, missing }: Record<'dropped' | 'missing', readonly string[]>,
) {
  const done = dropped.length > 0 ? `Dropped: ${dropped.join(', ')}` : '';
  if (dropped.length + missing.length > 0) report.done({ dropped, missing, dryRun: false }, done);
  if (version.tokensOutliveSecret && dropped.length > 0)
    report.note('tokens not stored here stay valid until revoked or expired');
}
