/** Lines out of a stream of bytes, each bounded in length. Owns what of a line has come; never looks into one. */

/** What a chunk has finished. */
export interface Finished {
  readonly lines: readonly string[];
  /** A line has become longer than is allowed; nothing after it counts. */
  readonly tooLong: boolean;
}

/** Takes chunks and gives lines, without their ends. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Empty lines are passed over. */
  take(chunk: Buffer): Finished {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      if (this.#bytes > this.#maxBytes) return { lines, tooLong: true };
      const line = Buffer.concat(this.#parts).toString('utf8').trim();
      this.#parts = [];
      this.#bytes = 0;
      if (line !== '') lines.push(line);
    }
    this.#keep(chunk.subarray(from));
    return { lines, tooLong: this.#bytes > this.#maxBytes };
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (part.length > 0 && this.#bytes <= this.#maxBytes) this.#parts.push(part);
  }
}

const LF = 0x0a;
