/**
 * Where packets come from: a capture, or the trace of a device; told apart by the first bytes.
 *
 * Owns what the two have in common, and the notes of a trace: what the device did beside sending and receiving.
 */
import { type CapturedPacket, type CaptureInterface, CaptureReader, LinkType } from 'rocev2/pcap';
import { looksLikeTrace, packetOfTrace, type TraceEvent, TraceReader } from 'rocev2/trace';

/** Packets, one after the other. */
export interface PacketSource {
  readonly interfaces: readonly CaptureInterface[];
  /** Bytes of the file that have been looked at, where that is known otherwise than by the packets. */
  readonly bytesRead?: number;
  /** Notes beside the packets; in order of time. */
  readonly notes: readonly TraceEvent[];
  /**
   * The next one; undefined at the end. @throws RoceError ERR_ROCE_CAPTURE when the file is malformed; then there is no
   * next one
   */
  next(): CapturedPacket | undefined;
}

/** What reads the file. */
export function openSource(bytes: Uint8Array): PacketSource {
  return looksLikeTrace(bytes) ? new TraceSource(bytes) : new CaptureSource(bytes);
}

class CaptureSource implements PacketSource {
  readonly notes = [];
  readonly #reader = new CaptureReader();
  #ended = false;

  constructor(bytes: Uint8Array) {
    this.#reader.push(bytes);
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.#reader.interfaces;
  }

  next(): CapturedPacket | undefined {
    if (this.#ended) return undefined;
    const packet = this.#reader.next();
    if (packet !== undefined) return packet;
    this.#ended = true;
    this.#reader.end();
    return undefined;
  }
}

class TraceSource implements PacketSource {
  readonly notes: TraceEvent[] = [];
  bytesRead = 0;
  readonly #bytes: Uint8Array;
  readonly #reader = new TraceReader();
  readonly #decoder = new TextDecoder();
  #packets = 0;
  #ended = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get interfaces(): readonly CaptureInterface[] {
    return [{ linkType: LinkType.Ethernet, snapLength: 0, name: this.#reader.vantagePoint, description: 'a trace' }];
  }

  next(): CapturedPacket | undefined {
    for (;;) {
      const event = this.#event();
      if (event === undefined) return undefined;
      const packet = packetOfTrace(event, this.#packets + 1);
      if (packet !== undefined) {
        this.#packets++;
        return packet;
      }
      if (this.notes.length < MOST_NOTES) this.notes.push(event);
    }
  }

  #event(): TraceEvent | undefined {
    while (!this.#ended) {
      const event = this.#reader.next();
      if (event !== undefined) return event;
      if (this.bytesRead === this.#bytes.length) {
        this.#ended = true;
        return this.#reader.end();
      }
      const end = Math.min(this.#bytes.length, this.bytesRead + PIECE);
      this.#reader.push(this.#decoder.decode(this.#bytes.subarray(this.bytesRead, end), { stream: true }));
      this.bytesRead = end;
    }
    return undefined;
  }
}

const PIECE = 65_536;
const MOST_NOTES = 500_000;
