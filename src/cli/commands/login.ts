import { shortPath } from '../../app/format.js';
import { type LoggedIn, logIn, usableStore } from '../../app/login/log-in.js';
import { askMissing, readAddress, signsInAtProvider, warnOfRestServer } from '../../app/login/questions.js';
import { isSecretId } from '../../auth/credential.js';
import { findConfigs } from '../../config/find.js';
import { ADDRESS_KEYS, defaultWith, type Flags, SETTINGS } from '../../config/keys.js';
import { isProfileName, PROFILE_NAME_FORM } from '../../config/parse.js';
import { requireRewritable } from '../../config/write.js';
import { usageError } from '../../core/errors.js';
import { requirePlainAlias } from '../../core/protocol/gsql.js';
import type { Run } from '../../run/run.js';
import type { Invocation } from '../command.js';
import { settingsInput } from '../context.js';
import { openRun } from '../session.js';

const atProvider = () => import('../../app/login/at-provider.js');

export async function execute(invocation: Invocation): Promise<undefined> {
  const { flags } = invocation;
  const [inForce] = findConfigs(settingsInput(invocation));
  const { run, store } = await openCompleted(invocation);
  const login = await (store
    ? logIn(run, store, flags['save-password'] === true)
    : (await atProvider()).logInAtProvider(run, {
        onDevice: flags.device === true,
        opensBrowser: flags['no-browser'] !== true,
      }));
  if (store && !run.ports.canPrompt) await warnOfRestServer(run);
  reportLogin(invocation, run, inForce?.path, login);
  if (login.failure) throw login.failure;
}

/** @param inForce the config file that other commands use here */
function reportLogin(invocation: Invocation, run: Run, inForce: string | undefined, login: LoggedIn): void {
  const { ctx, report, flags } = invocation;
  const { settings, target } = run;
  const { file, saved = null, savedPassword = false, lost, person, advice } = login;
  const { name } = settings.profile;
  const isHidden = inForce !== undefined && inForce !== file;
  // What else was typed is in the profile now.
  report.typed = { profile: flags.profile, config: isHidden ? file : flags.config, insecure: flags.insecure };
  if (advice) report.typed = { ...report.typed, 'password-file': flags['password-file'] };
  if (lost && !report.json) {
    report.note(`secret "${lost.alias}": this is the only time its value is shown`);
    report.result(lost.value.reveal());
  }
  const secret = lost && { secret: lost.value.reveal() };
  const document = { profile: name, file, host: target.host, saved, savedPassword, ...secret, ...person };
  const done = `Logged in to ${target.gsqlUrl} as profile "${name}" (${shortPath(file, ctx.home)}).`;
  report.done(document, `${done} ${whatIsSaved(login)}`.trim());
  const isDefault = defaultWith(settings.file?.config, name) === name;
  if (isHidden) report.note(`commands here use ${inForce}, and not this profile`);
  if (!isDefault) report.note(['to make it the default profile', { command: `profile use ${name}` }]);
  if (report.json || login.failure) return;
  report.note(advice ?? ['next', { command: `token get${isDefault ? '' : ` -p ${name}`}` }]);
}

function whatIsSaved({ saved, savedPassword, goesOnWith, person }: LoggedIn): string {
  if (person) return `The user is "${person.username}".`;
  if (savedPassword) return 'The password is saved.';
  const name = saved ?? goesOnWith;
  if (name === undefined) return 'Only the profile is saved.';
  // A secret whose alias is not known has an id.
  return `The secret ${name.includes(':') ? '' : `"${name}" `}is ${saved ? 'saved now' : 'used as before'}.`;
}

/**
 * Opens the run of the profile that is about to be written, and asks for missing settings on a terminal. Only the
 * user's own config file is read, and of it only this profile.
 * @throws GraphException USAGE for the name of the profile, CONFIG_INVALID when the file cannot be rewritten
 * @returns also the store of a login with a credential; undefined for one at an identity provider
 */
async function openCompleted(invocation: Invocation) {
  const { flags } = invocation;
  const alias = flags['secret-alias'];
  if (typeof alias === 'string' && !isSecretId(alias)) requirePlainAlias(alias);
  // A person may type `--host URL:PORT`, or an address of this machine without a scheme.
  let moreFlags: Flags = readAddress(String(flags.host ?? '')) ?? {};
  const open = async (address: Flags) => {
    moreFlags = { ...moreFlags, ...address };
    const run = await openRun(invocation, { profile: 'own', moreFlags, isStepwise: true });
    const { profileNames, profile, leftOut } = run.settings;
    const { endpoints } = run.target;
    // While the profile is not written, the next steps name its servers, in place of what was typed of them.
    const servers = Object.fromEntries(ADDRESS_KEYS.map((key) => [SETTINGS[key].flag, endpoints[key]]));
    const isReplaced = leftOut.some(({ set }) => set.some(({ level }) => level === 'profile'));
    if (isReplaced || !profileNames.includes(profile.name))
      invocation.report.typed = { ...flags, ...servers, isNewProfile: true };
    return run;
  };
  const run = await open({});
  const { settings, stores, ports } = run;
  const { name, source } = settings.profile;
  if (!isProfileName(name))
    throw usageError(`${source} gives no valid profile name.`, `begin it with ${PROFILE_NAME_FORM}`);
  if (stores.areShared && stores.inForce.setAt === 'flag')
    stores.requireKeeping(stores.inForce.name, 'A login');
  if (stores.configDir !== undefined) await requireRewritable(stores.configDir);
  const isAtProvider = signsInAtProvider(run);
  if (isAtProvider) (await atProvider()).requirePerson(run);
  if (isAtProvider && flags['save-password'])
    throw usageError('A login at an identity provider has no password to save.', 'leave --save-password out');
  if (!isAtProvider && (flags.device || flags['no-browser']))
    throw usageError(
      '--no-browser and --device need an identity provider.',
      'name it: --oidc-issuer URL --oidc-client-id ID',
    );
  // Where to keep things is asked first: in the place of the password, a person would type that.
  const what = flags['save-password'] ? '--save-password' : undefined;
  const store = isAtProvider ? undefined : await usableStore(run, what);
  return { run: ports.canPrompt ? await askMissing(run, open) : run, store };
}
