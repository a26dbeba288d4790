// Bytes to text: byte order marks, UTF-8, UTF-16, Windows-1252, and what is no text at all.
import { isUtf8 } from 'node:buffer';
import type { ReadSpec } from '../../../crds/schema/index.ts';

/** `Auto`: by byte order mark, else UTF-8, else Windows-1252 (the Latin-1 that is really in use). */
export type Encoding = ReadSpec['encoding'];

export type Decoded =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Length of the UTF-8 byte order mark, which is no part of the text but of the file's byte positions. */
      readonly markBytes: number;
      readonly note?: string;
    }
  | { readonly kind: 'binary' };

/** As many bytes as git looks at to tell a binary file. */
const SNIFF_BYTES = 8000;
/** Share of control characters from which bytes that are no UTF-8 are taken for binary. */
const CONTROL_SHARE_MAX = 0.02;

const BINARY: Decoded = { kind: 'binary' };

/** Decodes an item's content once; a byte order mark wins over the encoding that was asked for. */
export function decode(content: Uint8Array, encoding: Encoding): Decoded {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (startsWith(bytes, 0xef, 0xbb, 0xbf)) return utf8(bytes.subarray(3), encoding, 3);
  if (startsWith(bytes, 0xff, 0xfe, 0, 0) || startsWith(bytes, 0, 0, 0xfe, 0xff)) return BINARY;
  if (startsWith(bytes, 0xff, 0xfe)) return other(bytes, 'utf-16le');
  if (startsWith(bytes, 0xfe, 0xff)) return other(bytes, 'utf-16be');
  if (encoding === 'UTF-16LE' || encoding === 'UTF-16BE') return other(bytes, encoding);
  if (bytes.subarray(0, SNIFF_BYTES).includes(0)) return BINARY;
  return encoding === 'Windows-1252' ? other(bytes, encoding) : utf8(bytes, encoding, 0);
}

function utf8(bytes: Buffer, encoding: Encoding, markBytes: number): Decoded {
  if (isUtf8(bytes)) return { kind: 'text', text: bytes.toString('utf8'), markBytes };
  if (hasManyControls(bytes)) return BINARY;
  if (encoding === 'Auto' && markBytes === 0) {
    return { ...other(bytes, 'windows-1252'), note: 'is not valid UTF-8 and was read as Windows-1252' };
  }
  return { ...other(bytes, 'utf-8'), note: 'is not valid UTF-8: wrong bytes became U+FFFD' };
}

const other = (bytes: Uint8Array, label: string) => {
  const text = new TextDecoder(label, { ignoreBOM: false }).decode(bytes);
  return { kind: 'text', text, markBytes: 0 } as const;
};

const startsWith = (bytes: Uint8Array, ...mark: number[]): boolean => mark.every((byte, i) => bytes[i] === byte);

function hasManyControls(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, SNIFF_BYTES);
  let controls = 0;
  for (const byte of head) if (byte < 32 && (byte < 9 || byte > 13) && byte !== 27) controls++;
  return controls > head.length * CONTROL_SHARE_MAX;
}
