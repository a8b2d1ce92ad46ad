/**
 * Packets of a capture in memory that two threads share: one reads the file into it, finds where the packets are and
 * dissects them, the other analyzes them.
 *
 * Owns the layout of that memory. A batch is never used by both threads at once: who sends it has done with it.
 */
import {
  type CapturedPacket,
  DISSECTION_ROW,
  type Direction,
  type Dissection,
  type IcrcState,
  type PlacedPacket,
  packDissection,
  unpackDissection,
} from 'rocev2/pcap/read';

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
  readonly #all: Uint8Array;
  readonly #view: DataView;
  readonly #spill: Uint8Array;
  readonly #seconds: Float64Array;
  readonly #numbers: Float64Array;
  /** `WORDS` of each packet. */
  readonly #words: Int32Array;
  /** Filled again for each packet. */
  readonly #packet = new BatchPacket();
  readonly #place: { memory: Uint8Array; view: DataView; start: number; length: number; direction: Direction };
  /** Of the packet before, and where it begins in this batch; -1: elsewhere. */
  #chunk: Uint8Array | undefined;
  #chunkAt = -1;
  #spilled = 0;

  /** The same batch in either thread: one makes the memory and the other gets it. */
  constructor(memory = new SharedArrayBuffer(MEMORY_BYTES)) {
    this.memory = memory;
    this.#all = new Uint8Array(memory);
    this.#view = new DataView(memory);
    this.piece = new Uint8Array(memory, 0, PIECE_BYTES);
    this.#spill = new Uint8Array(memory, PIECE_BYTES, SPILL_BYTES);
    this.#seconds = new Float64Array(memory, TABLES_AT, MOST_PACKETS);
    this.#numbers = new Float64Array(memory, TABLES_AT + 8 * MOST_PACKETS, MOST_PACKETS);
    this.#words = new Int32Array(memory, TABLES_AT + 16 * MOST_PACKETS, WORDS * MOST_PACKETS);
    this.#place = { memory: this.#all, view: this.#view, start: 0, length: 0, direction: 0 };
  }

  /** Before the first packet of a piece. */
  clear(): void {
    this.#spilled = 0;
  }

  /** Notes the packet at position `i`. What does not fit into the memory is put into `rests`. */
  set(i: number, packet: PlacedPacket, dissection: Dissection, icrc: IcrcState, rests: Map<number, Rest>): void {
    const { captured, linkType, comments, dropCount, packetId } = packet;
    const words = this.#words;
    const row = i * WORDS;
    const at = this.#keep(packet);
    const isPacked = at >= 0 && packDissection(linkType, captured, dissection, words, row + Word.Dissection);
    this.#seconds[i] = packet.seconds;
    this.#numbers[i] = packet.number;
    words[row + Word.Nanoseconds] = packet.nanoseconds;
    words[row + Word.Captured] = captured;
    words[row + Word.Original] = packet.originalLength;
    words[row + Word.LinkType] = linkType;
    words[row + Word.Interface] = packet.interfaceIndex;
    words[row + Word.Flags] = packet.direction | (icrc << ICRC_SHIFT) | (isPacked ? PACKED : 0);
    words[row + Word.At] = Math.max(at, 0);
    if (at >= 0 && comments.length === 0 && dropCount === undefined && packetId === undefined) return;
    rests.set(i, {
      comments,
      ...(dropCount === undefined ? {} : { dropCount }),
      ...(packetId === undefined ? {} : { packetId }),
      ...(at >= 0 ? {} : { bytes: packet.bytes.slice() }),
    });
  }

  /**
   * The packet at position `i`; its bytes are those of the memory. The same object for each that has no rest: read it
   * before the next.
   */
  packet(i: number, rests: Rests): CapturedPacket {
    const words = this.#words;
    const row = i * WORDS;
    const packet = this.#packet;
    packet.number = this.#numbers[i] as number;
    packet.seconds = this.#seconds[i] as number;
    packet.nanoseconds = words[row + Word.Nanoseconds] as number;
    packet.originalLength = (words[row + Word.Original] as number) >>> 0;
    packet.linkType = (words[row + Word.LinkType] as number) >>> 0;
    packet.interfaceIndex = words[row + Word.Interface] as number;
    packet.direction = ((words[row + Word.Flags] as number) & DIRECTION_MASK) as Direction;
    packet.place(this.memory, words[row + Word.At] as number, words[row + Word.Captured] as number);
    const rest = rests.size === 0 ? undefined : rests.get(i);
    return rest === undefined ? packet : { ...packet, bytes: packet.bytes, ...rest };
  }

  /** Whether the ICRC of the packet at position `i` is right. */
  icrc(i: number): IcrcState {
    return (((this.#words[i * WORDS + Word.Flags] as number) >> ICRC_SHIFT) & ICRC_MASK) as IcrcState;
  }

  /** Makes `into` the dissection of the packet at position `i`; false if it has to be dissected again. */
  dissection(i: number, into: Dissection): boolean {
    const words = this.#words;
    const row = i * WORDS;
    const flags = words[row + Word.Flags] as number;
    if ((flags & PACKED) === 0) return false;
    const place = this.#place;
    place.start = words[row + Word.At] as number;
    place.length = words[row + Word.Captured] as number;
    place.direction = (flags & DIRECTION_MASK) as Direction;
    unpackDissection(words, row + Word.Dissection, place, into);
    return true;
  }

  /** Where these bytes are in the memory, or are copied to: a record that begins in one piece and ends in the next. */
  #keep(packet: PlacedPacket): number {
    const { memory, at, captured } = packet;
    if (memory !== this.#chunk) {
      this.#chunk = memory;
      this.#chunkAt = memory.buffer === this.memory ? memory.byteOffset : -1;
    }
    if (this.#chunkAt >= 0) return this.#chunkAt + at;
    if (captured > SPILL_BYTES - this.#spilled) return -1;
    this.#spill.set(packet.bytes, this.#spilled);
    this.#spilled += captured;
    return PIECE_BYTES + this.#spilled - captured;
  }
}

/** A packet in shared memory. Few look at its bytes, so that they are an object only where one does. */
class BatchPacket implements CapturedPacket {
  number = 0;
  seconds = 0;
  nanoseconds = 0;
  originalLength = 0;
  linkType = 0;
  interfaceIndex = 0;
  direction: Direction = 0;
  readonly comments = NO_COMMENTS;
  #memory = new SharedArrayBuffer(0);
  #at = 0;
  #length = 0;

  get bytes(): Uint8Array {
    return new Uint8Array(this.#memory, this.#at, this.#length);
  }

  place(memory: SharedArrayBuffer, at: number, length: number): void {
    this.#memory = memory;
    this.#at = at;
    this.#length = length;
  }
}

const NO_COMMENTS: readonly string[] = [];
/** Of a packet in the table of words. */
const Word = { Nanoseconds: 0, Captured: 1, Original: 2, LinkType: 3, Interface: 4, Flags: 5, At: 6, Dissection: 7 };
const WORDS = Word.Dissection + DISSECTION_ROW;
/** Flags: direction, state of the ICRC, and whether there is a dissection. */
const DIRECTION_MASK = 3;
const ICRC_SHIFT = 2;
const ICRC_MASK = 3;
const PACKED = 1 << 4;
const PIECE_BYTES = 1024 * 1024;
const SPILL_BYTES = 128 * 1024;
const TABLES_AT = PIECE_BYTES + SPILL_BYTES;
/** A record has 16 bytes at least, and one has begun in the piece before. */
const MOST_PACKETS = PIECE_BYTES / 16 + 8;
const MEMORY_BYTES = TABLES_AT + MOST_PACKETS * (2 * 8 + 4 * WORDS);
