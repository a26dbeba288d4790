// The operator's certificate authority and certificate, kept in one Secret of its namespace.
//   L1. Whoever leads makes them where they are missing, and anew before they end: the certificate after two thirds of its 90 days, the
//       authority in its last year. A new authority stands beside the old one until that ends, so runners trust both.
//   L2. A write that another operator was faster with is read, not repeated.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { OwnerReference } from './account.ts';
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts';
import { collectionPath, type KubeObject, objectPath, type Resource } from './objects.ts';
import type { KubeApi } from './rest.ts';

export interface LinkCertificates {
  /** Certificates that runners trust, PEM; two while the authority changes. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' };
const DAY_MS = 86_400_000;
const CERT_DAYS = 90;
const CA_DAYS = 3_650;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface Stored {
  readonly 'ca.crt': string;
  readonly 'ca.key': string;
  readonly 'tls.crt': string;
  readonly 'tls.key': string;
}

export class CertificateKeeper {
  readonly #api: KubeApi;
  readonly #secret: { readonly namespace: string; readonly name: string };
  readonly #hostName: string;
  readonly #owner: OwnerReference | undefined;

  constructor(
    api: KubeApi,
    secret: { readonly namespace: string; readonly name: string },
    hostName: string,
    owner?: OwnerReference,
  ) {
    this.#api = api;
    this.#secret = secret;
    this.#hostName = hostName;
    this.#owner = owner;
    x509.cryptoProvider.set(webcrypto as never);
  }

  /** The certificates to use now; made or renewed where need be (L1). */
  async ensure(): Promise<LinkCertificates> {
    for (;;) {
      const found = await this.#read();
      const nowMs = this.#api.clock.nowMs();
      const stored = found === undefined ? undefined : dataOf(found);
      const wanted = await renewed(stored, this.#hostName, nowMs);
      if (wanted === undefined && stored !== undefined) return toLink(stored);
      if (await this.#write(found, wanted!)) return toLink(wanted!);
    }
  }

  async #read(): Promise<SecretObject | undefined> {
    try {
      return await this.#api.request<SecretObject>({ method: 'GET', path: objectPath(SECRETS, this.#secret) });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** False: somebody else wrote it meanwhile (L2). */
  async #write(found: SecretObject | undefined, wanted: Stored): Promise<boolean> {
    const data = Object.fromEntries(Object.entries(wanted).map(([key, pem]) => [key, toBase64(pem)]));
    const { namespace, name } = this.#secret;
    const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data };
    try {
      if (found === undefined) {
        const path = collectionPath(SECRETS, namespace);
        const metadata = { namespace, name, ...(this.#owner && { ownerReferences: [this.#owner] }) };
        await this.#api.request({ method: 'POST', path, body: { ...body, metadata } });
      } else {
        const { resourceVersion, labels, annotations, ownerReferences } = found.metadata;
        const metadata = { namespace, name, resourceVersion, labels, annotations, ownerReferences };
        const path = objectPath(SECRETS, this.#secret);
        await this.#api.request({ method: 'PUT', path, body: { ...body, type: 'kubernetes.io/tls', metadata } });
      }
      return true;
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) return false;
      throw error;
    }
  }
}

/** L1: undefined: what is stored is good for now. */
async function renewed(stored: Stored | undefined, hostName: string, nowMs: number): Promise<Stored | undefined> {
  const old = stored === undefined ? undefined : read(stored);
  const isCaGood = old !== undefined && old.ca.notAfter.getTime() - nowMs > 365 * DAY_MS;
  const leftMs = old === undefined ? 0 : old.leaf.notAfter.getTime() - nowMs;
  const isForUs = old?.leaf
    .getExtension(x509.SubjectAlternativeNameExtension)
    ?.names.items.some(({ value }) => value === hostName);
  if (isCaGood && isForUs && leftMs > (CERT_DAYS * DAY_MS) / 3) return undefined;
  const ca = isCaGood ? { pem: stored!['ca.crt'], key: stored!['ca.key'] } : await newAuthority(nowMs);
  const trusted =
    isCaGood || old === undefined || old.ca.notAfter.getTime() <= nowMs
      ? ca.pem
      : `${ca.pem}\n${firstPem(stored!['ca.crt'])}`;
  const leaf = await newCertificate(ca, hostName, nowMs);
  return { 'ca.crt': trusted, 'ca.key': ca.key, 'tls.crt': leaf.pem, 'tls.key': leaf.key };
}

interface Pair {
  readonly pem: string;
  readonly key: string;
}

async function newAuthority(nowMs: number): Promise<Pair> {
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
    ],
  });
  return { pem: certificate.toString('pem'), key: await keyPem(keys.privateKey) };
}

async function newCertificate(ca: Pair, hostName: string, nowMs: number): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = x509.PemConverter.decodeFirst(ca.key);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const issuer = new x509.X509Certificate(firstPem(ca.pem));
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
    ],
  });
  return { pem: certificate.toString('pem'), key: await keyPem(keys.privateKey) };
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Undefined: somebody wrote something else into the Secret; it is made anew. */
function read(stored: Stored): { readonly ca: x509.X509Certificate; readonly leaf: x509.X509Certificate } | undefined {
  try {
    return {
      ca: new x509.X509Certificate(firstPem(stored['ca.crt'])),
      leaf: new x509.X509Certificate(stored['tls.crt']),
    };
  } catch {
    return undefined;
  }
}

const END = '-----END CERTIFICATE-----';
const firstPem = (pems: string): string => pems.slice(0, pems.indexOf(END) + END.length);

function dataOf({ data = {} }: SecretObject): Stored | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  const stored = {
    'ca.crt': text('ca.crt'),
    'ca.key': text('ca.key'),
    'tls.crt': text('tls.crt'),
    'tls.key': text('tls.key'),
  };
  return Object.values(stored).every((pem) => pem !== '') ? stored : undefined;
}

const toLink = (stored: Stored): LinkCertificates => ({
  ca: stored['ca.crt'],
  cert: stored['tls.crt'],
  key: stored['tls.key'],
});

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
