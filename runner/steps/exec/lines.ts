// Lines out of a stream of bytes, of bounded length.

export class LineSplitter {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      const line = Buffer.concat(this.#parts).toString('utf8');
      this.#parts = [];
      this.#bytes = 0;
      start = end + 1;
      if (line.trim() !== '') this.#onLine(line);
    }
    this.#keep(chunk.subarray(start));
    if (this.#bytes > this.#maxBytes) {
      this.#parts = [];
      this.#bytes = 0;
      this.#onTooLong();
    }
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
  }
}
