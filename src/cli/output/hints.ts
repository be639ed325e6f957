import { type ConfigKey, type Flags, SETTINGS, type Settings } from '../../config/keys.js';
import type { Fix, Hint } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';

const TAKES_NO_PROFILE = /^(profile|config trust)\b| --gsql-url /;
const IS_NOT_LOGIN = /^(?!login\b)/;
const TAKES_NO_ADDRESS = /^(profile|config (trust|path)|token list|logout --all)\b| --gsql-url /;
const IS_LOCAL = /^(profile|config (trust|path)|token list)\b/;
const ADDRESS = ['host', 'rest-port', 'gsql-port', 'rest-url', 'gsql-url', 'graph', 'ca'];
const GETS_NO_TOKEN = /^(?!(token (get|check|refresh|delete)|exec|proxy|api)\b)/;

/** Options that a hint names whatever gives the setting: it is about several, or maybe about servers not in force. */
const OPTION_FOR: Readonly<Record<string, string>> = {
  jwtToken: '--secret-stdin, --secret-file, --jwt-stdin, --jwt-file',
  ports: '--gsql-url URL',
  urls: '--gsql-url, --rest-url',
  owner: '--owner',
  password: '--username, and --password-stdin, --password-file or GRAPHCRED_PASSWORD',
  skipNA: '--skip-missing',
  'tls.ca': '--ca FILE',
  'tls.cert': '--cert, --key',
  wait: '--wait 3m',
};

/** What hints name: what was typed, and where settings come from. */
export type Named = { readonly typed: Flags; readonly settings?: Settings | undefined };

/** Writes a hint on one line. Commands repeat the profile and the address that were typed. */
export function textOf(hint: Hint, named: Named): string {
  return [hint].flat().reduce((text: string, part: Fix, index, all) => {
    if (typeof part === 'string') return text + (text === '' || part.startsWith(',') ? part : `; ${part}`);
    if ('setting' in part) return text + bracketed(part.setting, named.settings);
    const command = commandAt(part.command, named.typed);
    if (text === '') return command;
    const before = all[index - 1];
    return `${text}${typeof before === 'object' && 'command' in before ? ';' : ':'} ${command}`;
  }, '');
}

/** Names what gives a setting now, else its options. The library has `timeout` in milliseconds. */
function bracketed(setting: string, settings: Settings | undefined): string {
  const key = setting.replace(/Ms$/, '') as ConfigKey;
  const [set] = settings?.all[key] ?? [];
  const { flag } = SETTINGS[key] ?? {};
  const own = set && !['flag', 'default'].includes(set.level) ? set.label : flag && `--${flag}`;
  const name = OPTION_FOR[setting] ?? own;
  return name ? ` (${name})` : '';
}

function commandAt(command: string, typed: Flags): string {
  const [options = '', ...child] = command.split(/(?= -- )/);
  const add = (name: string, without: RegExp, flag = `--${name}`) =>
    typed[name] === undefined || without.test(options) || options.includes(` ${flag} `)
      ? ''
      : ` ${flag} ${shellWord(`${typed[name]}`)}`;
  // A profile that is named has its address, once it is written.
  const isNamed = / -p /.test(options) && typed.isNewProfile !== true;
  // A pipe that the shell has made, as `<(pass show x)` does, is gone when a hint is typed.
  const file = /^\/(dev|proc)\//.test(`${typed['password-file']}`) ? [] : ['password-file'];
  const place = [
    add('owner', /^(?!secret (list|create|drop|rotate))/),
    isNamed ? '' : add('username', TAKES_NO_ADDRESS, '-u'),
    ...['principal', 'secret-alias'].map((name) => add(name, GETS_NO_TOKEN)),
    add('profile', typed.isNewProfile === true ? IS_NOT_LOGIN : TAKES_NO_PROFILE, '-p'),
    ...(isNamed ? [] : [...ADDRESS, ...file]).map((name) => add(name, TAKES_NO_ADDRESS)),
    ...['oidc-issuer', 'oidc-client-id'].map((name) => add(name, IS_NOT_LOGIN)),
    add('config', /^(login|config trust|profile (use|remove))\b/),
    typed.insecure === true && !IS_LOCAL.test(options) ? ' --insecure' : '',
  ];
  return ['graphcred ', options, ...place, ...child].join('');
}
