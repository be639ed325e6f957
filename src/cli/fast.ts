import { parseArgs } from 'node:util';
import type { Flags } from './call.js';
import type { CommandSpec } from './commands.js';

export interface Parsed {
  readonly args: readonly string[];
  readonly flags: Flags;
}

/**
 * Reads flags without loading commander, for the command that stands in loops. Answers only for input that
 * is beyond doubt; anything else is `undefined` and goes to commander, which also makes the error texts.
 */
export function parseQuickly(spec: CommandSpec, argv: readonly string[]): Parsed | undefined {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const { name, short, value } of spec.options) {
    options[name] = { type: value === undefined ? 'boolean' : 'string', ...(short && { short }) };
  }
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options,
      strict: true,
      allowPositionals: true,
    });
    if (values.help || positionals.length > 0) return undefined;
    for (const { name, choices } of spec.options) {
      const value = values[name];
      if (choices && typeof value === 'string' && !choices.includes(value)) return undefined;
    }
    return { args: [], flags: values as Flags };
  } catch {
    return undefined;
  }
}
