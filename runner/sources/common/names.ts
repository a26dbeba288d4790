// Names of files are bytes; keys are text. A raw path holds one byte per character (as `latin1` reads them), so that it
// sorts by bytes and loses nothing. A key is the path as UTF-8; a byte that is no part of valid UTF-8 becomes U+FFFD and
// two upper-case hex digits, and so do the three bytes of a U+FFFD that really stands in a name.
//   N1. Every path has exactly one key, and `rawOf(keyOf(raw)) === raw`.
//   N2. A text that is not the key of any path reads as undefined: keys have no aliases.
import { isUtf8 } from 'node:buffer';

const MARK = '\uFFFD';
const MARK_BYTES = Buffer.from(MARK, 'utf8');
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is exactly this range.
const ASCII = /^[\x00-\x7F]*$/;

const escapeByte = (byte: number): string => MARK + byte.toString(16).toUpperCase().padStart(2, '0');

/** Whether each character is one byte of ASCII, so that raw path, key and path for the file system are the same text. */
export const isAscii = (text: string): boolean => ASCII.test(text);

/** Key of a raw path. */
export function keyOf(raw: string): string {
  if (isAscii(raw)) return raw;
  const bytes = Buffer.from(raw, 'latin1');
  return isUtf8(bytes) && !bytes.includes(MARK_BYTES) ? bytes.toString('utf8') : escapeInvalid(bytes);
}

/** Raw path of a key; undefined for a text that is the key of no path below a root (N2). */
export function rawOf(key: string): string | undefined {
  const raw = isAscii(key) ? key : unescapeKey(key);
  return raw !== undefined && isRelative(raw) && keyOf(raw) === key ? raw : undefined;
}

/** What the file system calls take for a raw path: text where text can say it, else bytes. */
export function fsPath(raw: string): string | Buffer {
  return isAscii(raw) ? raw : Buffer.from(raw, 'latin1');
}

/** Raw form of a path that a person wrote. */
export const rawOfText = (path: string): string => Buffer.from(path, 'utf8').toString('latin1');

/** No way out of the root: no empty, `.` or `..` segment and no NUL. */
function isRelative(raw: string): boolean {
  return !raw.includes('\0') && raw.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}

function escapeInvalid(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at);
    const sequence = bytes.subarray(at, at + Math.max(1, length));
    text +=
      length > 0 && !sequence.equals(MARK_BYTES) ? sequence.toString('utf8') : [...sequence].map(escapeByte).join('');
    at += sequence.length;
  }
  return text;
}

/** Bytes of the valid UTF-8 sequence that starts here; 0 if none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

function unescapeKey(key: string): string | undefined {
  const [head = '', ...parts] = key.split(MARK);
  let raw = rawOfText(head);
  for (const part of parts) {
    const hex = part.slice(0, 2);
    if (!/^[0-9A-F]{2}$/.test(hex)) return undefined;
    raw += String.fromCharCode(Number.parseInt(hex, 16)) + rawOfText(part.slice(2));
  }
  return raw;
}
