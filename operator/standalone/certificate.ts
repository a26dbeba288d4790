// A self-signed certificate for an operator that has none: an elliptic key, the names and addresses that it is reached by, ten years.
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const YEARS = 10;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** `hosts`: names and addresses; the first names the certificate. */
export async function selfSigned(hosts: readonly string[], nowMs: number): Promise<Certificate> {
  // Loaded here: a certificate is made once, and the library costs a start more than all else of this room.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const notAfter = new Date(nowMs);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + YEARS);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [hosts[0] ?? 'fairlead'] }],
    notBefore: new Date(nowMs - 60_000),
    notAfter,
    signingAlgorithm: ALGORITHM,
    keys: keys as never,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true), // it vouches for itself
      new x509.SubjectAlternativeNameExtension(
        hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }) as const),
      ),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: `${certificate.toString('pem')}\n`, key: `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n` };
}
