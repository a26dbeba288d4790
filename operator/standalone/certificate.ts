// A self-signed certificate for an operator that has none: an elliptic key, the names and addresses that it is reached by, ten years.
import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const YEARS = 10;

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;

const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';
const BASIC_CONSTRAINTS = '551d13';

/** One DER element. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const oid = (hex: string): Buffer => der(OBJECT_ID, Buffer.from(hex, 'hex'));
const time = (date: Date): Buffer =>
  der(GENERALIZED_TIME, Buffer.from(`${date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')}`));

/** `hosts`: names and addresses; the first names the certificate. */
export function selfSigned(hosts: readonly string[], nowMs: number): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, oid(ECDSA_WITH_SHA256));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, oid(COMMON_NAME), der(UTF8_STRING, Buffer.from(hosts[0] ?? 'fairlead')))),
  );
  const until = new Date(nowMs);
  until.setUTCFullYear(until.getUTCFullYear() + YEARS);
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    der(SEQUENCE, time(new Date(nowMs - 60_000)), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, authority(), alternativeNames(hosts))),
  );
  const signature = sign('sha256', body, createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  const whole = der(SEQUENCE, body, algorithm, der(BIT_STRING, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replaceAll(/(.{64})/g, '$1\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** It vouches for itself. */
function authority(): Buffer {
  const yes = Buffer.from([0x01, 0x01, 0xff]);
  return der(SEQUENCE, oid(BASIC_CONSTRAINTS), yes, der(OCTET_STRING, der(SEQUENCE, yes)));
}

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 4 ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  );
  return der(SEQUENCE, oid(SUBJECT_ALT_NAME), der(OCTET_STRING, der(SEQUENCE, ...names)));
}
