/** A stream that keeps what is written to it, and bytes that come in pieces. */
import { Writable } from 'node:stream';

export class Sink extends Writable {
  readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  get lines(): string[] {
    return this.bytes.toString('utf8').split('\n').slice(0, -1);
  }
}

export async function* chunksOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
