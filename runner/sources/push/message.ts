// What a sender posts: a signed list of items. Pure.
//   M1. The signature is HMAC-SHA256 over `<seconds>.<body>`, in hex, behind `v1=`; several, joined by commas, let a sender change its key.
//   M2. It counts while its time is within the tolerance of ours; the text is compared without giving away how much of it fits.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const TIME_HEADER = 'fairlead-time';
export const SIGNATURE_HEADER = 'fairlead-signature';

/** Items of one message at most. */
export const ITEMS_MAX = 1_000;
const KEY_MAX_BYTES = 1_024;

/** One item of a message, its content decoded; without content the item goes. */
export interface PushedItem {
  readonly key: string;
  readonly content?: Buffer;
}

/** Why a message is refused, with the status for its sender. */
export class PushRefusal extends Error {
  override readonly name = 'PushRefusal';
  readonly status: 400 | 401 | 413;

  constructor(status: 400 | 401 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

/** Signature of a body at a time, in seconds of the epoch. */
export function signatureOf(secret: string, seconds: number, body: Uint8Array): string {
  return `v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`;
}

export interface Signed {
  /** Values of the two headers. */
  readonly time: string | undefined;
  readonly signature: string | undefined;
  readonly body: Uint8Array;
  /** W3C trace context of the sender, which is only linked to: it is not signed. */
  readonly traceparent?: string | undefined;
}

/** Checks who sent a message, and when. Throws PushRefusal; the message never says what would have fitted. */
export function checkSignature(signed: Signed, secret: string, toleranceMs: number, nowMs: number): void {
  const seconds = /^[0-9]{1,12}$/.test(signed.time ?? '') ? Number(signed.time) : undefined;
  if (seconds === undefined)
    throw new PushRefusal(401, `the header ${TIME_HEADER} must hold the time in seconds of the epoch`);
  if (Math.abs(nowMs - seconds * 1_000) > toleranceMs)
    throw new PushRefusal(401, 'the time of the signature is too far from the time here');
  const wanted = digest(signatureOf(secret, seconds, signed.body));
  const given = (signed.signature ?? '').split(',').slice(0, 8);
  if (!given.some((one) => timingSafeEqual(digest(one.trim()), wanted)))
    throw new PushRefusal(401, `the header ${SIGNATURE_HEADER} does not fit the body`);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Reads `{"items": [{"key", "text" | "base64" | "removed": true}, …]}`. Throws PushRefusal that names the item. */
export function itemsOf(body: Uint8Array, maxItemBytes: number): PushedItem[] {
  const items = (parsed(body) as { items?: unknown } | null)?.items;
  if (!Array.isArray(items) || items.length === 0 || items.length > ITEMS_MAX)
    throw new PushRefusal(400, `the body must be {"items": [...]} with 1 to ${ITEMS_MAX} items`);
  return items.map((item, at) => itemOf(item, at, maxItemBytes));
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new PushRefusal(400, 'the body is no JSON');
  }
}

function itemOf(item: unknown, at: number, maxItemBytes: number): PushedItem {
  const { key, text, base64, removed } = (item ?? {}) as Readonly<Record<string, unknown>>;
  if (
    typeof key !== 'string' ||
    key === '' ||
    !key.isWellFormed() ||
    key.includes('\0') ||
    Buffer.byteLength(key) > KEY_MAX_BYTES
  )
    throw new PushRefusal(400, `items[${at}].key must be a text of 1 to ${KEY_MAX_BYTES} bytes`);
  if ([text, base64, removed].filter((one) => one !== undefined).length !== 1) throw malformed(at);
  if (removed === true) return { key };
  const content =
    typeof text === 'string' ? Buffer.from(text, 'utf8') : typeof base64 === 'string' ? decoded(base64) : undefined;
  if (content === undefined) throw malformed(at);
  if (content.length > maxItemBytes)
    throw new PushRefusal(413, `items[${at}] has ${content.length} bytes; at most ${maxItemBytes} are taken`);
  return { key, content };
}

const malformed = (at: number): PushRefusal =>
  new PushRefusal(400, `items[${at}] must hold exactly one of text, base64 and "removed": true`);

/** Undefined for what is no base64; Node would skip what it does not know. */
function decoded(base64: string): Buffer | undefined {
  const content = Buffer.from(base64, 'base64');
  return content.toString('base64') === base64 ? content : undefined;
}
