// The certificates of the runner link over the years, on a virtual clock; L1 to L3 are the invariants at the head of
// operator/cluster/certificates.ts.
import { X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { CertificateKeeper, type LinkCertificates } from '../../operator/cluster/index.ts';
import { kubeWorld } from './kube.ts';

const world = kubeWorld();
const HOST = 'fairlead.fairlead.svc';
const SECRET = { namespace: 'fairlead', name: 'fairlead-link' };
const SECRETS_PATH = '/api/v1/namespaces/fairlead/secrets';
const DAY_MS = 86_400_000;

async function keepers(count = 1) {
  const { server, clock, api } = await world();
  clock.advance(Date.now() - clock.nowMs()); // handshakes are judged by the time of this machine
  const made = Array.from({ length: count }, () => new CertificateKeeper(api(), SECRET, HOST));
  return { server, clock, keeper: made[0]!, keepers: made, pass: (days: number) => clock.advance(days * DAY_MS) };
}

/** Whether a certificate was signed by one of those in `ca`, whatever the date. */
function isTrusted(ca: string, { cert }: LinkCertificates): boolean {
  const leaf = new X509Certificate(cert);
  const authorities = ca.split(/(?<=-----END CERTIFICATE-----)\n?/).filter((pem) => pem !== '');
  return authorities
    .map((pem) => new X509Certificate(pem))
    .some((one) => leaf.checkIssued(one) && leaf.verify(one.publicKey));
}

/** What a client that trusts `ca` says to a server with this certificate. */
async function handshake(ca: string, { cert, key }: LinkCertificates): Promise<string> {
  const server = createServer({ cert, key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const socket = connect({ port, host: '127.0.0.1', ca, servername: HOST, rejectUnauthorized: false });
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  socket.destroy();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return socket.authorized ? 'authorized' : String(socket.authorizationError);
}

describe('the certificates of the link', () => {
  test('are made once and trusted by who knows their authority, by nobody else', async () => {
    const { keeper, server } = await keepers();
    const first = await keeper.ensure();
    expect(await keeper.ensure()).toEqual(first);
    expect(server.calls('create')).toHaveLength(1);
    expect(await handshake(first.ca, first)).toBe('authorized');
    const { keeper: stranger } = await keepers();
    expect(await handshake((await stranger.ensure()).ca, first)).not.toBe('authorized');
  });

  test('L1: the certificate is renewed after two thirds of its time, under the same authority', async () => {
    const { keeper, pass } = await keepers();
    const first = await keeper.ensure();
    pass(59);
    expect((await keeper.ensure()).cert).toBe(first.cert);
    pass(2);
    const second = await keeper.ensure();
    expect(second.cert).not.toBe(first.cert);
    expect(second.ca).toBe(first.ca);
  });

  test('L2: of two operators that begin at once both show the same', async () => {
    const { keepers: both } = await keepers(2);
    const [one, other] = await Promise.all(both.map((keeper) => keeper.ensure()));
    expect(one).toEqual(other);
  });

  test('L3: while the authority changes no runner is shown a certificate that it cannot check, though its pod is four weeks old', async () => {
    const { keeper, pass } = await keepers();
    const given: string[] = []; // what pods were given to trust, one a week
    await keeper.ensure();
    pass(365 * 9 - 21);
    for (let week = 0; week < 12; week++) {
      const now = await keeper.ensure();
      given.push(now.ca);
      for (const ca of given.slice(-5)) expect(isTrusted(ca, now), `week ${week}`).toBe(true);
      pass(7);
    }
    // The text changed once, when the next one was made known; that it signs by now changes nothing for pods.
    expect(new Set(given).size).toBe(2);
    const [old, both] = [given[0]!, given.at(-1)!];
    expect(isTrusted(old, await keeper.ensure())).toBe(false);
    pass(365);
    const alone = await keeper.ensure();
    expect(both.endsWith(alone.ca)).toBe(true);
  });

  test('what somebody else wrote into the Secret is replaced', async () => {
    const { keeper, server } = await keepers();
    server.put(SECRETS_PATH, { metadata: SECRET, data: { 'tls.crt': 'bm90aGluZw==' } });
    const made = await keeper.ensure();
    expect(await handshake(made.ca, made)).toBe('authorized');
  });
});
