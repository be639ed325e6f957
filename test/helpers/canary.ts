// Searches for credentials in places where none may be. A canary is a credential with a known value, which the tests can search for.
import fs from 'node:fs';
import path from 'node:path';

/** Returns every encoding of the value from which a reader could easily restore it. */
export function encodings(value: string): string[] {
  const bytes = Buffer.from(value);
  const found = new Set([
    value,
    encodeURIComponent(value),
    encodeURIComponent(value).replaceAll('%20', '+'),
    String(new URLSearchParams([['', value]])).slice(1),
    JSON.stringify(value).slice(1, -1),
    JSON.stringify(JSON.stringify(value)).slice(3, -3),
    bytes.toString('hex'),
  ]);
  // Inside a longer text, base64 has three possible forms. The characters that also depend on the neighbouring bytes are left out.
  for (let offset = 0; offset < 3; offset++) {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const own = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    found.add(own).add(own.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...found];
}

/** Returns the names of the credentials found in the text. */
export function findCredentials(text: string, credentials: ReadonlyMap<string, string>): string[] {
  const names: string[] = [];
  for (const [value, name] of credentials)
    if (encodings(value).some((form) => text.includes(form))) names.push(name);
  return names;
}

/** Yields every file below the folder, with its content byte by byte. */
export function* filesBelow(folder: string): Generator<{ file: string; text: string }> {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    try {
      yield { file: path.relative(folder, file), text: fs.readFileSync(file, 'latin1') };
    } catch {
      // The file was deleted meanwhile.
    }
  }
}
