// Certificates of the link: an authority that signs, and the certificate that the operator shows. Pure but for the keys.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const DAY_MS = 86_400_000;
const CERT_DAYS = 90;
const CA_DAYS = 3_650;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A certificate and its private key, PEM. */
export interface Pair {
  readonly pem: string;
  readonly key: string;
}

x509.cryptoProvider.set(webcrypto as never);

export async function newAuthority(nowMs: number): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=fairlead link authority',
    notBefore: new Date(nowMs - DAY_MS),
    notAfter: new Date(nowMs + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys: keys as never,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      // Two authorities of one name stand side by side while they change: the key tells which one signed.
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey as never),
    ],
  });
  return { pem: certificate.toString('pem'), key: await keyPem(keys.privateKey) };
}

export async function newCertificate(ca: Pair, hostName: string, nowMs: number): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = x509.PemConverter.decodeFirst(ca.key);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const issuer = new x509.X509Certificate(ca.pem);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: 'CN=fairlead operator',
    issuer: issuer.subject,
    notBefore: new Date(nowMs - DAY_MS),
    notAfter: new Date(nowMs + CERT_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey as never,
    signingKey: signingKey as never,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: hostName }]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { pem: certificate.toString('pem'), key: await keyPem(keys.privateKey) };
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** What the renewal looks at. */
export interface Facts {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Host names that it stands for; none for an authority. */
  readonly hostNames: readonly string[];
}

/** Undefined: it is no certificate. */
export function factsOf(pem: string): Facts | undefined {
  try {
    const certificate = new x509.X509Certificate(pem);
    const names = certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
    return {
      notBeforeMs: certificate.notBefore.getTime(),
      notAfterMs: certificate.notAfter.getTime(),
      hostNames: names.map(({ value }) => value),
    };
  } catch {
    return undefined;
  }
}
