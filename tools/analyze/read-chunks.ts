/**
 * Reads a capture that comes in chunks, up to its first defect. Opens no file; runs in a browser too.
 */
import { type CapturedPacket, type CaptureInterface, CaptureReader, Dissection, dissectPlaced } from 'rocev2/pcap/read';
import { isDamage } from './damage.ts';
import { type PacketFeed, type PacketTaker, type ReadingResult, readFeed } from './packet-feed.ts';

/**
 * Reads `chunks` up to the place where they are no capture any more or cannot be read. A chunk is no longer used when
 * the third one after it is requested.
 */
export function readChunks(chunks: AsyncIterable<Uint8Array>, take: PacketTaker): Promise<ReadingResult> {
  return readFeed(new ChunkFeed(chunks), take);
}

/** The packets of a capture in chunks; the promise of `readChunks` about chunks holds. */
export class ChunkFeed implements PacketFeed {
  readonly icrc = undefined;
  readonly dissection = new Dissection();
  damage: Error | undefined;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #reader = new CaptureReader();
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.#reader.interfaces;
  }

  next(): CapturedPacket | undefined {
    if (this.#ended) return undefined;
    try {
      const packet = this.#reader.nextPlaced();
      if (packet !== undefined) dissectPlaced(packet, this.dissection);
      return packet;
    } catch (error) {
      this.#end(error);
      return undefined;
    }
  }

  async more(): Promise<boolean> {
    if (this.#ended) return false;
    try {
      const { done, value } = await this.#chunks.next();
      if (done === true) {
        this.#ended = true;
        this.#reader.end();
      } else this.#reader.push(value);
    } catch (error) {
      this.#end(error);
    }
    return !this.#ended;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #end(error: unknown): void {
    if (!isDamage(error)) throw error;
    this.#ended = true;
    this.damage = error;
  }
}
