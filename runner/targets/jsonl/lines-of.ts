// The lines of a file, a piece of it in memory at a time.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

const PIECE_BYTES = 1 << 16;

/** None: there is no such file. */
export function* linesOf(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const piece = Buffer.alloc(PIECE_BYTES);
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece)) {
      const lines = (rest + decoder.write(piece.subarray(0, bytes))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  } finally {
    closeSync(file);
  }
}
