// The operator's certificate authority and certificate, kept in one Secret of its namespace.
//   L1. Whoever leads makes them where they are missing, and anew before they end: the certificate after two thirds of its 90 days.
//   L2. A write that another operator was faster with is read, not repeated.
//   L3. An authority changes in two steps, so that no runner is ever shown a certificate that it cannot check. In its last year the next one is
//       made and given to all runners beside it; thirty days later, when every pod has been made anew with both, the next one signs.
import type { OwnerReference } from './account.ts';
import { type Facts, factsOf, newAuthority, newCertificate, type Pair } from './authority.ts';
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
/** A certificate with less than this left is made anew (L1). */
const CERT_LEFT_MS = 30 * DAY_MS;
/** An authority with less than this left gets a successor (L3). */
const CA_LEFT_MS = 365 * DAY_MS;
/** How long runners are given to know the successor (L3). */
const CA_KNOWN_MS = 30 * DAY_MS;

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What the Secret holds. */
interface Stored {
  readonly ca: Pair;
  /** The authority that will sign next, known to runners already (L3). */
  readonly next?: Pair;
  /** Authorities that signed before and that somebody may still show. */
  readonly former?: string;
  readonly leaf: Pair;
}

export class CertificateKeeper {
  readonly #api: KubeApi;
  readonly #secret: { readonly namespace: string; readonly name: string };
  readonly #hostName: string;
  readonly #owner: OwnerReference | undefined;

  /** `owner`: whoever a Secret that is made here goes with. */
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
  }

  /** The certificates to use now; made or renewed where need be (L1, L3). */
  async ensure(): Promise<LinkCertificates> {
    for (;;) {
      const found = await this.#read();
      const stored = found === undefined ? undefined : decode(found);
      const wanted = await renewed(stored, this.#hostName, this.#api.clock.nowMs());
      if (wanted === stored || (await this.#write(found, wanted))) return toLink(wanted);
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
    const { namespace, name } = this.#secret;
    const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data: encode(wanted) };
    try {
      if (found === undefined) {
        const path = collectionPath(SECRETS, namespace);
        const metadata = { namespace, name, ...(this.#owner && { ownerReferences: [this.#owner] }) };
        await this.#api.request({ method: 'POST', path, body: { ...body, metadata } });
      } else {
        const { resourceVersion, labels, annotations, ownerReferences } = found.metadata;
        const metadata = { namespace, name, resourceVersion, labels, annotations, ownerReferences };
        await this.#api.request({
          method: 'PUT',
          path: objectPath(SECRETS, this.#secret),
          body: { ...body, metadata },
        });
      }
      return true;
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) return false;
      throw error;
    }
  }
}

/** `stored` itself: it is good for now. */
async function renewed(stored: Stored | undefined, hostName: string, nowMs: number): Promise<Stored> {
  const known = stored === undefined ? undefined : factsOf(stored.ca.pem);
  const isOver = known === undefined || (known.notAfterMs <= nowMs && stored?.next === undefined);
  if (stored === undefined || isOver) return begin(hostName, nowMs);
  const authorities = await changedAuthorities(stored, known, nowMs);
  const leaf = factsOf(stored.leaf.pem);
  const isLeafGood =
    authorities.ca === stored.ca &&
    leaf?.hostNames.includes(hostName) === true &&
    leaf.notAfterMs - nowMs > CERT_LEFT_MS;
  if (isLeafGood && authorities === stored) return stored;
  return { ...authorities, leaf: isLeafGood ? stored.leaf : await newCertificate(authorities.ca, hostName, nowMs) };
}

async function begin(hostName: string, nowMs: number): Promise<Stored> {
  const ca = await newAuthority(nowMs);
  return { ca, leaf: await newCertificate(ca, hostName, nowMs) };
}

/** L3; `stored` itself: none changes now. */
async function changedAuthorities(stored: Stored, ca: Facts, nowMs: number): Promise<Stored> {
  const next = stored.next === undefined ? undefined : factsOf(stored.next.pem);
  if (stored.next !== undefined && next !== undefined) {
    const { next: signs, ...rest } = stored;
    const isTime = nowMs - next.notBeforeMs >= CA_KNOWN_MS || ca.notAfterMs <= nowMs;
    return isTime ? { ...rest, ca: signs, former: stored.ca.pem } : stored;
  }
  if (ca.notAfterMs - nowMs <= CA_LEFT_MS) return { ...stored, next: await newAuthority(nowMs) };
  const former = stored.former === undefined ? undefined : factsOf(stored.former);
  if (stored.former !== undefined && (former === undefined || former.notAfterMs <= nowMs)) {
    const { former: _, ...rest } = stored;
    return rest;
  }
  return stored;
}

/** PEM of all that runners trust, the oldest first: when the next one begins to sign, the text stays, and with it all pods. */
const trusted = ({ ca, next, former }: Stored): string =>
  [former, ca.pem, next?.pem].filter((pem) => pem !== undefined).join('\n');

const toLink = (stored: Stored): LinkCertificates => ({
  ca: trusted(stored),
  cert: stored.leaf.pem,
  key: stored.leaf.key,
});

// ---- in the Secret -------------------------------------------------------------------------------------------------

function encode(stored: Stored): Record<string, string> {
  const data: Record<string, string | undefined> = {
    'ca.crt': trusted(stored),
    'signer.crt': stored.ca.pem,
    'signer.key': stored.ca.key,
    'next.crt': stored.next?.pem,
    'next.key': stored.next?.key,
    'former.crt': stored.former,
    'tls.crt': stored.leaf.pem,
    'tls.key': stored.leaf.key,
  };
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, pem]) =>
      pem === undefined ? [] : [[key, Buffer.from(pem).toString('base64')]],
    ),
  );
}

/** Undefined: somebody wrote something else into the Secret; it is made anew. */
function decode({ data = {} }: SecretObject): Stored | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  const pair = (cert: string, key: string): Pair | undefined =>
    text(cert) === '' || text(key) === '' ? undefined : { pem: text(cert), key: text(key) };
  const [ca, leaf, next] = [pair('signer.crt', 'signer.key'), pair('tls.crt', 'tls.key'), pair('next.crt', 'next.key')];
  if (ca === undefined || leaf === undefined) return undefined;
  return {
    ca,
    leaf,
    ...(next && { next }),
    ...(text('former.crt') !== '' && { former: text('former.crt') }),
  };
}
