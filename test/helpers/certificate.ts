import { isIP } from 'node:net';
import { generate } from 'selfsigned';

/** Creates a self-signed certificate for host names and addresses, and its key, both in PEM. */
export async function certificate(...names: string[]): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: names[0] ?? '' }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: names.map(altName) },
    ],
  });
  return { cert, key };
}

function altName(name: string) {
  return isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name };
}
