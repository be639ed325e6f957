import { formatError } from './errors.js';
import { jsonErrorLine } from './json-error-line.js';
import { lineOfKey } from './key-line.js';
import type { ConfigFile } from './keys.js';
import { checkConfig } from './schema.js';

/**
 * Reads and checks the text of a config file. JSON needs no YAML parser; YAML goes through cosmiconfig's
 * loader, and only its loader: building a cosmiconfig explorer would run a planted `.config/config.js`.
 * @throws GraphException CONFIG_INVALID naming file, key and line. The parser's own words are dropped, since they
 * quote the text around the fault, and that may be a password.
 */
export async function parseConfig(file: string, content: string): Promise<ConfigFile> {
  // Editors on Windows begin a file with a mark that is no part of it.
  const text = content.replace(/^\ufeff/, '');
  if (text.trim() === '') return checkConfig(file, {});
  const json = file.endsWith('.json');
  if (json || text.trimStart().startsWith('{')) {
    let data: unknown;
    try {
      data = JSON.parse(text);
    } catch {
      // `{a: b}` without quotes is YAML; only a file that calls itself JSON has to be JSON.
      if (json) throw formatError(file, jsonErrorLine(text), 'JSON');
    }
    if (data !== undefined) return checked(file, data, text, JSON.parse);
  }
  const { defaultLoadersSync } = await import('cosmiconfig');
  const parse = (yaml: string): unknown => parseYaml(defaultLoadersSync['.yaml'], file, yaml);
  return checked(file, parse(text), text, parse);
}

async function checked(
  file: string,
  data: unknown,
  text: string,
  parse: (text: string) => unknown,
): Promise<ConfigFile> {
  try {
    return checkConfig(file, data);
  } catch {
    // Only a file with a fault pays for the search of its line.
    return checkConfig(file, data, (path) => lineOfKey(text, path, parse));
  }
}

/** @throws GraphException CONFIG_INVALID naming file and line */
function parseYaml(load: (file: string, text: string) => unknown, file: string, text: string): unknown {
  try {
    return load(file, text);
  } catch (error) {
    throw formatError(file, lineOf(error), 'YAML');
  }
}

function lineOf(error: unknown): number | undefined {
  const line = (error as { mark?: { line?: unknown } } | undefined)?.mark?.line;
  return typeof line === 'number' ? line + 1 : undefined;
}
