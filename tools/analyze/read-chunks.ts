/**
 * Reads a capture that comes in chunks, up to its first defect.
 *
 * Owns what a reading hands over and what it ends with. Opens no file; runs in a browser too.
 */
import { type CapturedPacket, type CaptureInterface, CaptureReader, type IcrcState } from 'rocev2/pcap';
import { isDamage } from './damage.ts';

/** What is known of a capture when all of it was read. */
export interface ReadingResult {
  readonly interfaces: readonly CaptureInterface[];
  /** Why it could not be read to its end. */
  readonly damage: Error | undefined;
}

/**
 * Called for each packet, in the order of the file; the bytes are valid during the call. `icrc` is there where the
 * reading has verified it.
 */
export type PacketTaker = (packet: CapturedPacket, icrc?: IcrcState) => void;

/**
 * Reads `chunks` up to the place where they are no capture any more or cannot be read. A chunk is no longer used when
 * the third one after it is requested.
 */
export async function readChunks(chunks: AsyncIterable<Uint8Array>, take: PacketTaker): Promise<ReadingResult> {
  const reader = new CaptureReader();
  let damage: Error | undefined;
  try {
    for await (const chunk of chunks) {
      reader.push(chunk);
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) take(packet);
    }
    reader.end();
  } catch (error) {
    if (!isDamage(error)) throw error;
    damage = error;
  }
  return { interfaces: reader.interfaces, damage };
}
