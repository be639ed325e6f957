import { defaultLoadersSync } from 'cosmiconfig';
import { formatFault } from './faults.js';

/** @throws GraphException CONFIG_INVALID naming file and line */
export function parseYaml(file: string, text: string): unknown {
  try {
    return defaultLoadersSync['.yaml'](file, text);
  } catch (error) {
    throw formatFault(file, lineOf(error), 'YAML');
  }
}

function lineOf(error: unknown): number | undefined {
  const line = (error as { mark?: { line?: unknown } } | undefined)?.mark?.line;
  return typeof line === 'number' ? line + 1 : undefined;
}
