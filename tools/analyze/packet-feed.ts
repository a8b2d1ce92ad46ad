/**
 * Packets of one capture, one after the other, whoever reads it.
 *
 * Owns what a reading hands over and what it ends with. Opens no file; runs in a browser too.
 */
import type { CapturedPacket, CaptureInterface, Dissection, IcrcState } from 'rocev2/pcap/read';

/** What is known of a capture when all of it was read. */
export interface ReadingResult {
  readonly interfaces: readonly CaptureInterface[];
  /** Why it could not be read to its end. */
  readonly damage: Error | undefined;
  /** Of several captures, the name of the one that `damage` is about. */
  readonly damaged?: string;
}

/** A capture that is read up to its first defect. */
export interface PacketFeed extends ReadingResult {
  /** Whether the ICRC of the last packet is right, where the feed has verified it. */
  readonly icrc: IcrcState | undefined;
  /** What `dissect` makes of the last packet, where the feed knows it; the same object for each. */
  readonly dissection: Dissection | undefined;
  /**
   * The next packet, in the order of the file: perhaps the same object for each. Its bytes are valid until `more`.
   * Undefined: wait for `more`.
   */
  next(): CapturedPacket | undefined;
  /** Waits until there is more; false at the end, or at a defect. Rejects with what is no fault of the file. */
  more(): Promise<boolean>;
  /** Ends the reading, wherever it is. */
  close(): Promise<void>;
}

/**
 * Called for each packet, in the order of the file; all of it is valid during the call. `icrc` is there where the
 * reading has verified it, and `dissection` where it has dissected the packet.
 */
export type PacketTaker = (packet: CapturedPacket, icrc?: IcrcState, dissection?: Dissection) => void;

/** Hands over all packets, and closes the feed. Rejects with what `take` throws. */
export async function readFeed(feed: PacketFeed, take: PacketTaker): Promise<ReadingResult> {
  try {
    do {
      for (let packet = feed.next(); packet !== undefined; packet = feed.next())
        take(packet, feed.icrc, feed.dissection);
    } while (await feed.more());
    const { interfaces, damage } = feed;
    return { interfaces, damage };
  } finally {
    await feed.close();
  }
}
