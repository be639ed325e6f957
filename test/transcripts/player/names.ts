import { createHash } from 'node:crypto';

/** Milliseconds of the units in which a transcript counts time. */
export const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Gives what differs between two runs a name that is the same in each. */
export interface Names {
  /** Notes the credentials in what a server was sent or answered. They are 32 letters and digits, or JSON Web Tokens. */
  note(text: string): void;
  notePort(port: string, name: string): void;
  /** Returns the text with names in place of what differs, in the same length where columns depend on it. */
  constant(text: string): string;
  /** The opposite of `constant`, for what is played. */
  real(text: string): string;
}

/** @param start the moment that is called `now`, in milliseconds since 1970 */
export function createNames(home: string, start: number): Names {
  const ports = new Map<string, string>();
  const credentials: string[] = [];

  function note(text: string) {
    for (const [found] of text.matchAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+|\b[a-z0-9]{32}\b/g))
      if (!credentials.includes(found)) credentials.push(found);
  }

  const digests = () => credentials.map((one) => createHash('sha256').update(one).digest('hex'));

  function constant(text: string): string {
    let shown = text
      .replaceAll(home, '/home/user')
      .replaceAll(`owner            user ${process.getuid?.()},`, 'owner            user UID,');
    for (const [index, one] of credentials.entries()) {
      const name = `credential-${index + 1}`;
      shown = shown
        .replaceAll(one, one.length > 40 ? name : name.padEnd(one.length, '.'))
        .replaceAll(`${one.slice(0, 3)}****${one.slice(-3)}`, `<${index + 1}>****<${index + 1}>`)
        .replaceAll(`${one.slice(0, 4)}****${one.slice(-4)}`, `<${index + 1}>****<${index + 1}>`)
        .replaceAll(Buffer.from(one).toString('base64'), `base64(${name})`);
    }
    for (const [index, digest] of digests().entries())
      shown = shown
        .replace(new RegExp(`\\b(?:${digest.slice(0, 8)})[0-9a-f]*`, 'g'), (found) =>
          `sha256-${index + 1}`.padEnd(found.length, '.'),
        )
        .replaceAll(`secret ${digest.slice(0, 4)}…`, `secret ${`#${index + 1}`.padEnd(4, '.')}…`);
    for (const [port, name] of ports) shown = shown.replace(new RegExp(`\\b${port}\\b`, 'g'), name);
    return shown
      .replace(/AUTO_GENERATED_ALIAS_\w{7}/g, 'AUTO_GENERATED_ALIAS_xxxxxxx')
      .replace(/(^|\| |"id":"|token )[0-9a-f]{8}(?= {2}|"| \(| of )/gm, '$1(row id)')
      .replace(/(?<=(?:revoked|deleted|is) the (?:stored )?token )[0-9a-f]{8}\b/g, '(row id)')
      .replace(/(?<=token delete(?: [0-9a-f]{8})*) [0-9a-f]{8}\b/g, ' (row id)')
      .replace(/-[0-9a-f]{32}(-[\w.-]+?)?\.json/g, '-(digest).json')
      .replace(/\b20\d\d-\d\d…/g, '(month)…')
      .replace(/\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, (found) => {
        const at = Date.parse(found.endsWith('Z') ? found : `${found.replace(' ', 'T')}Z`);
        // Years ago: the date of a release, which stays as it is.
        if (at < start - 400 * UNITS.d) return found;
        return found.endsWith('Z') ? moment(at) : moment(at).padEnd(found.length);
      })
      .replace(/\b1[789]\d{8}(?:\d{3})?\b/g, (found) => moment(Number(found.padEnd(13, '0'))))
      .replace(/\b\w{3} (\w{3} \d\d) (\d\d:\d\d:\d\d) (\w+) (20\d\d)\b/g, (_, day, time, zone, year) => {
        return `${moment(Date.parse(`${day} ${year} ${time} UTC`))} in ${zone}`;
      })
      .replace(/\b\d+(\.\d)? ms\b/g, 'N ms')
      .replace(/"milliseconds":\d+/g, '"milliseconds":N')
      .replace(/"sessionId":"0{8}\w{3}"/g, '"sessionId":"00000000xxx"')
      .replace(/\bgraphcred_[0-9a-f]{32}\b/g, 'graphcred_(random)')
      .replace(/^date: .*/gm, 'date: (now)')
      .replaceAll('\u001b', '␛');
  }

  function moment(at: number): string {
    const passed = at - start;
    if (passed === 0) return 'now';
    const [unit = 's', size = 1000] =
      Object.entries(UNITS).findLast(([, length]) => passed % length === 0) ?? [];
    return `now${passed < 0 ? '-' : '+'}${Math.abs(passed / size)}${unit}`;
  }

  function real(text: string): string {
    let played = text.replaceAll('/home/user', home);
    for (const [port, name] of [...ports].reverse()) played = played.replaceAll(name, port);
    return played.replace(/credential-(\d+)/g, (name, number) => {
      const one = credentials[Number(number) - 1];
      if (one === undefined) throw new Error(`No server has given ${name} yet.`);
      return one;
    });
  }

  return { note, notePort: (port, name) => void ports.set(port, name), constant, real };
}
