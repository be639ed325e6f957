import { generate } from 'selfsigned';

/** Creates a self-signed certificate for a host name, and its key, both in PEM. */
export async function certificate(name: string): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: name }] },
    ],
  });
  return { cert, key };
}
