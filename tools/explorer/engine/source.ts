/**
 * Where packets come from: a capture, or the trace of a device; told apart by the first bytes.
 *
 * Owns what the two have in common, and the notes of a trace: what the device did beside sending and receiving.
 */
import { type CapturedPacket, type CaptureInterface, CaptureReader, LinkType } from 'rocev2/pcap';
import { looksLikeTrace, packetOfTrace, type TraceEvent, TraceReader } from 'rocev2/trace';
import type { FileBytes } from './file-bytes.ts';

/** Packets, one after the other. */
export interface PacketSource {
  readonly interfaces: readonly CaptureInterface[];
  /** Bytes of the file that have been looked at, where that is known otherwise than by the packets. */
  readonly bytesRead?: number;
  /** Where in the file the bytes of the last packet begin; -1: they are made of what is there. */
  readonly packetOffset: number;
  /** Notes beside the packets; in order of time. */
  readonly notes: readonly TraceEvent[];
  /**
   * The next one; undefined at the end. Throws where the file cannot be read any more, as RoceError ERR_ROCE_CAPTURE
   * where it is malformed; then there is no next one.
   */
  next(): CapturedPacket | undefined;
}

/** What reads the file. */
export function openSource(file: FileBytes): PacketSource {
  return looksLikeTrace(file.block(0) ?? new Uint8Array(0)) ? new TraceSource(file) : new CaptureSource(file);
}

class CaptureSource implements PacketSource {
  readonly notes = [];
  readonly #file: FileBytes;
  readonly #reader = new CaptureReader();
  #blocks = 0;
  #ended = false;

  constructor(file: FileBytes) {
    this.#file = file;
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.#reader.interfaces;
  }

  get packetOffset(): number {
    return this.#reader.packetOffset;
  }

  next(): CapturedPacket | undefined {
    while (!this.#ended) {
      const packet = this.#reader.next();
      if (packet !== undefined) return packet;
      const block = this.#file.block(this.#blocks++);
      if (block !== undefined) {
        this.#reader.push(block);
        continue;
      }
      this.#ended = true;
      this.#reader.end();
    }
    return undefined;
  }
}

class TraceSource implements PacketSource {
  readonly notes: TraceEvent[] = [];
  readonly packetOffset = -1;
  bytesRead = 0;
  readonly #file: FileBytes;
  readonly #reader = new TraceReader();
  readonly #decoder = new TextDecoder();
  #packets = 0;
  #ended = false;

  constructor(file: FileBytes) {
    this.#file = file;
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
      if (this.bytesRead === this.#file.size) {
        this.#ended = true;
        return this.#reader.end();
      }
      const piece = this.#file.range(this.bytesRead, PIECE);
      this.#reader.push(this.#decoder.decode(piece, { stream: true }));
      this.bytesRead += piece.length;
    }
    return undefined;
  }
}

const PIECE = 65_536;
const MOST_NOTES = 500_000;
