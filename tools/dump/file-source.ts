/**
 * The packets of a capture file as it streams in: memory does not grow with the file.
 */

import { CaptureCopy, type CapturedPacket, type CaptureInterface, CaptureReader } from 'rocev2/pcap';
import type { CaptureSource, PacketCopy } from './source.ts';

export class FileSource implements CaptureSource {
  readonly live: boolean;
  private readonly chunks: AsyncIterable<Uint8Array>;
  private reader = new CaptureReader();

  /**
   * @param chunks a readable stream of bytes
   * @param live the stream is written while it is read
   */
  constructor(chunks: AsyncIterable<Uint8Array>, { live = false } = {}) {
    this.chunks = chunks;
    this.live = live;
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.reader.interfaces;
  }

  /** Block by block: descriptions of the file, its interfaces and its packets stay unchanged. */
  copy(): PacketCopy {
    const copy = new CaptureCopy({ application: 'roce dump' });
    this.reader = new CaptureReader(copy);
    return copy;
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
