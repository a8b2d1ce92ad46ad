/**
 * The packets of a capture file as it streams in: memory does not grow with the file.
 */

import { CaptureReader } from '../../pcap/reader.ts';
import type { CapturedPacket, CaptureInterface } from '../../pcap/types.ts';
import type { CaptureSource } from './dump.ts';

export class FileSource implements CaptureSource {
  private readonly chunks: AsyncIterable<Uint8Array>;
  private readonly reader = new CaptureReader();

  /** `chunks`: a readable stream of bytes. */
  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.chunks = chunks;
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.reader.interfaces;
  }

  /** Throws `RoceError` ERR_ROCE_CAPTURE where the file is malformed, and what the stream fails with. */
  async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket, void, undefined> {
    for await (const chunk of this.chunks) {
      this.reader.push(chunk);
      for (let packet = this.reader.next(); packet !== undefined; packet = this.reader.next()) yield packet;
    }
    this.reader.end();
  }
}
