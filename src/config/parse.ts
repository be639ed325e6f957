import { GraphException } from '../core/errors.js';

/**
 * Reads the text of a config file as data. JSON needs no YAML parser; YAML goes through cosmiconfig's
 * loader, and only its loader: building a cosmiconfig explorer would run a planted `.config/config.js`.
 * @throws GraphException CONFIG_INVALID naming file and line. The parser's own words are dropped, since they
 * quote the text around the fault, and that may be a password.
 */
export async function parseConfig(file: string, content: string): Promise<unknown> {
  // Editors on Windows begin a file with a mark that is no part of it.
  const text = content.replace(/^\ufeff/, '');
  if (text.trim() === '') return {};
  const json = file.endsWith('.json');
  if (json || text.trimStart().startsWith('{')) {
    try {
      return JSON.parse(text);
    } catch {
      // `{a: b}` without quotes is YAML; only a file that calls itself JSON has to be JSON.
      if (json) throw invalid(file, (await import('./json-fault.js')).jsonFaultLine(text), 'JSON');
    }
  }
  const { defaultLoadersSync } = await import('cosmiconfig');
  try {
    return defaultLoadersSync['.yaml'](file, text);
  } catch (error) {
    throw invalid(file, yamlLine(error), 'YAML');
  }
}

function invalid(file: string, line: number | undefined, format: string): GraphException {
  const where = line === undefined ? file : `${file}, line ${line}`;
  return new GraphException('CONFIG_INVALID', `${where}: this is not valid ${format}.`, {
    hint: 'correct the file, or name another one with --config',
  });
}

function yamlLine(error: unknown): number | undefined {
  const line = (error as { mark?: { line?: unknown } } | undefined)?.mark?.line;
  return typeof line === 'number' ? line + 1 : undefined;
}
