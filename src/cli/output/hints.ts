import type { Flags } from '../../config/keys.js';
import type { GraphException, Remedy } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';

/** Commands in a text, with the arguments and options that belong to them. */
const PRINTED =
  /\bgraphcred ((?:(?:secret|token|config) [a-z]+|profile list|login|logout|status|doctor|exec|api)\b)((?<=secret (?:create|drop|rotate)) [\w.-]+|)((?: (?:--store [a-z]+\b|-p [\w.-]*\w|--?[a-z][\w-]*|[A-Z]{2,}\b|\d\w*\b|[\da-f]{8}\b|'[^']*'))*)/g;
const TAKES_NO_PROFILE = /^(profile list|config trust)$/;
const TAKES_NO_OWNER = /^(?!secret (list|create|drop|rotate))/;
const TAKES_NO_CONFIG = /^(login|config trust)$/;

/** Adds to each command in a text the profile and config file that were typed, so that it acts at the same place. */
export function inPlace(text: string, { profile, config, owner }: Flags): string {
  if (profile === undefined && config === undefined && owner === undefined) return text;
  return text.replace(PRINTED, (command, path: string, _: string, options: string) => {
    const add = (flag: string, value: unknown, without: RegExp, typed: RegExp) =>
      value === undefined || without.test(path) || typed.test(options)
        ? ''
        : ` ${flag} ${shellWord(`${value}`)}`;
    const ofOwner = add('--owner', owner, TAKES_NO_OWNER, / --owner\b/);
    const place = add('-p', profile, TAKES_NO_PROFILE, / (-p|--profile)\b/);
    return `${command}${ofOwner}${place}${add('--config', config, TAKES_NO_CONFIG, / --config\b/)}`;
  });
}

/** Maps the library's options to flags of the command line. */
const FLAGS: Readonly<Record<string, string>> = {
  graph: '--graph',
  jwtToken: '--secret-stdin, --secret-file, --jwt-stdin, --jwt-file',
  ports: '--gsql-url URL --rest-url URL/restpp',
  lifetime: '--lifetime',
  owner: '--owner',
  password: '--username, and --password-stdin, --password-file or GRAPHCRED_PASSWORD',
  serverVersion: '--server-version',
  skipNA: '--skip-missing',
  timeoutMs: '--timeout',
  'tls.ca': '--ca FILE',
  'tls.cert': '--cert, --key',
  username: '--username',
};

/** What follows a hint: a command or option to type, with the words that lead to it. */
const NEXT: Readonly<Record<Remedy, string>> = {
  'check-token': ': graphcred token check',
  examine: ': graphcred doctor',
  'give-version': '; if you know its version: --server-version 3|4|X.Y',
  'list-secrets': ': graphcred secret list',
  'list-with-password': ': graphcred secret list -u USER --password-file FILE',
  'mint-from-secret': '; if that was a secret, mint a token from it: graphcred token get --secret-stdin',
  'new-token': ': graphcred token get --fresh',
  'show-settings': ': graphcred config show',
  wait: ': --wait 3m',
};

/** Returns the hint of an error with the flag and the commands that follow it. */
export function hintOf({
  hint = '',
  option,
  remedies,
}: Pick<GraphException, 'hint' | 'option' | 'remedies'>): string {
  const flag = option === undefined ? undefined : FLAGS[option];
  return [hint, flag === undefined ? '' : ` (${flag})`, ...remedies.map((remedy) => NEXT[remedy])].join('');
}
