import type { GraphException, Remedy } from '../../core/errors.js';
import type { Flags } from '../command.js';

/** Returns what a command in a hint needs to be about the profile that was typed: ` -p NAME`, or nothing. */
export function profileWords({ profile }: Flags): string {
  return profile === undefined ? '' : ` -p ${profile}`;
}

/** Maps the library's options to flags of the command line. */
const FLAGS: Readonly<Record<string, string>> = {
  graph: '--graph',
  ports: '--rest-port, --gsql-port; --rest-url, --gsql-url',
  lifetime: '--lifetime',
  password: '--username, and --password-stdin, --password-file or GRAPHCRED_PASSWORD',
  serverVersion: '--server-version',
  skipNA: '--skip-missing',
  timeoutMs: '--timeout',
  'tls.ca': '--ca FILE',
  'tls.cert': '--cert, --key',
  username: '--username',
};

const COMMANDS: Readonly<Record<Remedy, string>> = {
  examine: 'graphcred doctor',
  'give-version': '--server-version 3|4|X.Y',
  'list-secrets': 'graphcred secret list',
  'mint-from-secret': 'graphcred token get --secret-stdin',
  'new-token': 'graphcred token get --fresh',
  'rotate-secret': 'graphcred secret rotate ALIAS',
  'show-settings': 'graphcred config show',
  wait: '--wait 3m',
};

/** Returns the hint of an error with the flag or command that follows it. */
export function hintOf({
  hint = '',
  option,
  remedies,
}: Pick<GraphException, 'hint' | 'option' | 'remedies'>): string {
  const flag = option === undefined ? undefined : FLAGS[option];
  const withFlag = flag === undefined ? hint : `${hint.replace(/\.$/, '')} (${flag}).`;
  const commands = remedies.map((remedy) => COMMANDS[remedy]).join('; ');
  return commands === '' ? withFlag : `${withFlag.replace(/\.$/, '')}: ${commands}`;
}
