/**
 * Packets of a capture in memory that two threads share: one reads the file into it and finds where the packets are,
 * the other analyzes them.
 *
 * Owns the layout of that memory. A batch is never used by both threads at once: who sends it has done with it.
 */
import type { CapturedPacket, Direction, IcrcState } from 'rocev2/pcap';

/** What few packets have, or what does not fit into the shared memory; sent beside it, by position in the batch. */
export type Rest = Pick<CapturedPacket, 'comments' | 'dropCount' | 'packetId'> & {
  /** The packet itself, where it found no room in the memory. */
  readonly bytes?: Uint8Array;
};

/** The rest of those packets of a batch that have one. */
export type Rests = ReadonlyMap<number, Rest>;

/** Memory for the next piece of a file and for all packets that end in it. */
export class PacketBatch {
  readonly memory: SharedArrayBuffer;
  /** Where the piece of the file is to be read to. */
  readonly piece: Uint8Array;
  readonly #spill: Uint8Array;
  readonly #seconds: Float64Array;
  readonly #numbers: Float64Array;
  readonly #nanoseconds: Uint32Array;
  readonly #at: Uint32Array;
  readonly #captured: Uint32Array;
  readonly #original: Uint32Array;
  readonly #linkTypes: Uint32Array;
  readonly #interfaces: Uint32Array;
  readonly #directions: Uint8Array;
  readonly #icrcs: Uint8Array;
  #spilled = 0;

  /** The same batch in either thread: one makes the memory and the other gets it. */
  constructor(memory = new SharedArrayBuffer(MEMORY_BYTES)) {
    this.memory = memory;
    this.piece = new Uint8Array(memory, 0, PIECE_BYTES);
    this.#spill = new Uint8Array(memory, PIECE_BYTES, SPILL_BYTES);
    let at = PIECE_BYTES + SPILL_BYTES;
    const next = (bytes: number): number => {
      at += bytes * MOST_PACKETS;
      return at - bytes * MOST_PACKETS;
    };
    this.#seconds = new Float64Array(memory, next(8), MOST_PACKETS);
    this.#numbers = new Float64Array(memory, next(8), MOST_PACKETS);
    this.#nanoseconds = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#at = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#captured = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#original = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#linkTypes = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#interfaces = new Uint32Array(memory, next(4), MOST_PACKETS);
    this.#directions = new Uint8Array(memory, next(1), MOST_PACKETS);
    this.#icrcs = new Uint8Array(memory, next(1), MOST_PACKETS);
  }

  /** Before the first packet of a piece. */
  clear(): void {
    this.#spilled = 0;
  }

  /** Notes the packet at position `i`. What does not fit into the memory is put into `rests`. */
  set(i: number, packet: CapturedPacket, icrc: IcrcState, rests: Map<number, Rest>): void {
    const { bytes, comments, dropCount, packetId } = packet;
    this.#seconds[i] = packet.seconds;
    this.#numbers[i] = packet.number;
    this.#nanoseconds[i] = packet.nanoseconds;
    this.#captured[i] = bytes.length;
    this.#original[i] = packet.originalLength;
    this.#linkTypes[i] = packet.linkType;
    this.#interfaces[i] = packet.interfaceIndex;
    this.#directions[i] = packet.direction;
    this.#icrcs[i] = icrc;
    const at = this.#place(bytes);
    this.#at[i] = Math.max(at, 0);
    if (at >= 0 && comments.length === 0 && dropCount === undefined && packetId === undefined) return;
    rests.set(i, {
      comments,
      ...(dropCount === undefined ? {} : { dropCount }),
      ...(packetId === undefined ? {} : { packetId }),
      ...(at >= 0 ? {} : { bytes: bytes.slice() }),
    });
  }

  /** The packet at position `i`; its bytes are those of the memory. */
  packet(i: number, rests: Rests): CapturedPacket {
    const packet = {
      number: this.#numbers[i] as number,
      seconds: this.#seconds[i] as number,
      nanoseconds: this.#nanoseconds[i] as number,
      bytes: new Uint8Array(this.memory, this.#at[i], this.#captured[i]),
      originalLength: this.#original[i] as number,
      linkType: this.#linkTypes[i] as number,
      interfaceIndex: this.#interfaces[i] as number,
      direction: this.#directions[i] as Direction,
      comments: NO_COMMENTS,
    };
    const rest = rests.size === 0 ? undefined : rests.get(i);
    return rest === undefined ? packet : { ...packet, ...rest };
  }

  /** Whether the ICRC of the packet at position `i` is right. */
  icrc(i: number): IcrcState {
    return this.#icrcs[i] as IcrcState;
  }

  /** Where these bytes are in the memory, or are copied to: a record that begins in one piece and ends in the next. */
  #place(bytes: Uint8Array): number {
    if (bytes.buffer === this.memory) return bytes.byteOffset;
    if (bytes.length > SPILL_BYTES - this.#spilled) return -1;
    this.#spill.set(bytes, this.#spilled);
    this.#spilled += bytes.length;
    return PIECE_BYTES + this.#spilled - bytes.length;
  }
}

const PIECE_BYTES = 1024 * 1024;
const SPILL_BYTES = 128 * 1024;
/** A record has 16 bytes at least, and one has begun in the piece before. */
const MOST_PACKETS = PIECE_BYTES / 16 + 8;
const MEMORY_BYTES = PIECE_BYTES + SPILL_BYTES + MOST_PACKETS * (2 * 8 + 6 * 4 + 2);
const NO_COMMENTS: readonly string[] = [];
