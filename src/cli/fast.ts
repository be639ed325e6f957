import type { Flags } from './call.js';
import type { CommandSpec } from './commands.js';

export interface Parsed {
  readonly args: readonly string[];
  readonly flags: Flags;
}

/**
 * Reads flags without loading commander, for the command that stands in loops. Answers only for input that is
 * beyond doubt: whole names, one short option a word, values that do not begin with a dash. Anything else is
 * `undefined` and goes to commander, which also makes the error texts.
 */
export function parseQuickly(spec: CommandSpec, argv: readonly string[]): Parsed | undefined {
  const flags: Record<string, string | true> = {};
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const said = equals === -1 ? word : word.slice(0, equals);
    const option = spec.options.find(
      ({ name, short }) => said === `--${name}` || (short && said === `-${short}`),
    );
    if (!option || option.repeat) return undefined;
    if (option.value === undefined) {
      if (equals !== -1) return undefined;
      flags[option.name] = true;
      continue;
    }
    const value = equals === -1 ? argv[++at] : word.slice(equals + 1);
    if (value === undefined || (equals === -1 && value.startsWith('-'))) return undefined;
    if (option.choices && !option.choices.includes(value)) return undefined;
    flags[option.name] = value;
  }
  return { args: [], flags };
}
