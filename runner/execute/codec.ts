// Elements as JSON, for runs of a `forEach`: vectors and bytes as base64.
import type { Json } from '../protocol/index.ts';
import type { Element, Place } from '../sdk/index.ts';

export function encodeElement({ vector, bytes, ...plain }: Element): Json {
  return {
    ...(plain as { readonly [key: string]: Json }),
    ...(vector === undefined ? {} : { vector: base64(vector) }),
    ...(bytes === undefined ? {} : { bytes: base64(bytes) }),
  };
}

export function decodeElement(json: Json): Element {
  const { vector, bytes, ...plain } = json as { readonly [key: string]: Json };
  return {
    ...(plain as { readonly text?: string; readonly place?: Place }),
    ...(typeof vector === 'string' ? { vector: floats(vector) } : {}),
    ...(typeof bytes === 'string' ? { bytes: new Uint8Array(Buffer.from(bytes, 'base64')) } : {}),
  };
}

function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64');
}

function floats(text: string): Float32Array {
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  return new Float32Array(bytes.buffer, 0, bytes.byteLength >> 2);
}
