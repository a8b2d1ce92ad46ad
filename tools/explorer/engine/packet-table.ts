/**
 * What is kept of every packet of a capture: one column of numbers for each property, no object.
 *
 * Owns the columns and their growth. Bytes of packets are not here: `offset` says where in the file they are. Computes
 * nothing.
 */

/** How a missing number is written in a column that cannot hold -1. */
export const NONE = 0xff_ff;

/** The columns; index 0 is packet number 1. */
export class PacketTable {
  /** Packets in it. */
  length = 0;
  /** First byte in the file. */
  offset = new Float64Array(FIRST_CAPACITY);
  /** Bytes captured, and bytes on the wire. */
  captured = new Uint32Array(FIRST_CAPACITY);
  original = new Uint32Array(FIRST_CAPACITY);
  /** Nanoseconds since the first packet. */
  timeNs = new Float64Array(FIRST_CAPACITY);
  linkType = new Uint16Array(FIRST_CAPACITY);
  interfaceIndex = new Uint16Array(FIRST_CAPACITY);
  direction = new Uint8Array(FIRST_CAPACITY);
  /** `FrameStatus`. */
  status = new Uint8Array(FIRST_CAPACITY);
  /** BTH opcode; `NONE` without a BTH. */
  opcode = new Uint16Array(FIRST_CAPACITY);
  psn = new Uint32Array(FIRST_CAPACITY);
  destQpn = new Uint32Array(FIRST_CAPACITY);
  /** Bytes of payload of a packet that is Ok. */
  payload = new Uint32Array(FIRST_CAPACITY);
  /** Of the AETH; `NONE` without one. */
  syndrome = new Uint16Array(FIRST_CAPACITY);
  /** 0, 4 or 6. */
  ipVersion = new Uint8Array(FIRST_CAPACITY);
  /** DSCP and ECN. */
  trafficClass = new Uint8Array(FIRST_CAPACITY);
  /** `IcrcState`. */
  icrc = new Uint8Array(FIRST_CAPACITY);
  /** Id of the conversation; 0: none. */
  conversation = new Uint32Array(FIRST_CAPACITY);
  /** Which end sent it, and whose PSN space it is in. */
  sender = new Uint8Array(FIRST_CAPACITY);
  requester = new Uint8Array(FIRST_CAPACITY);
  /** `Role` of pcap/analysis. */
  role = new Uint8Array(FIRST_CAPACITY);
  /** NaN where it has none. */
  relativePsn = new Float64Array(FIRST_CAPACITY);
  psnCount = new Uint32Array(FIRST_CAPACITY);
  /** Bits of `Mark`. */
  marks = new Uint16Array(FIRST_CAPACITY);
  missing = new Uint32Array(FIRST_CAPACITY);
  /** Packet number; -1: none. */
  refersTo = new Int32Array(FIRST_CAPACITY);

  /** Makes room for one more and returns its index; its columns are zero. */
  add(): number {
    if (this.length === this.offset.length) this.#grow(2 * this.length);
    return this.length++;
  }

  #grow(capacity: number): void {
    this.offset = grown(this.offset, new Float64Array(capacity));
    this.captured = grown(this.captured, new Uint32Array(capacity));
    this.original = grown(this.original, new Uint32Array(capacity));
    this.timeNs = grown(this.timeNs, new Float64Array(capacity));
    this.linkType = grown(this.linkType, new Uint16Array(capacity));
    this.interfaceIndex = grown(this.interfaceIndex, new Uint16Array(capacity));
    this.direction = grown(this.direction, new Uint8Array(capacity));
    this.status = grown(this.status, new Uint8Array(capacity));
    this.opcode = grown(this.opcode, new Uint16Array(capacity));
    this.psn = grown(this.psn, new Uint32Array(capacity));
    this.destQpn = grown(this.destQpn, new Uint32Array(capacity));
    this.payload = grown(this.payload, new Uint32Array(capacity));
    this.syndrome = grown(this.syndrome, new Uint16Array(capacity));
    this.ipVersion = grown(this.ipVersion, new Uint8Array(capacity));
    this.trafficClass = grown(this.trafficClass, new Uint8Array(capacity));
    this.icrc = grown(this.icrc, new Uint8Array(capacity));
    this.conversation = grown(this.conversation, new Uint32Array(capacity));
    this.sender = grown(this.sender, new Uint8Array(capacity));
    this.requester = grown(this.requester, new Uint8Array(capacity));
    this.role = grown(this.role, new Uint8Array(capacity));
    this.relativePsn = grown(this.relativePsn, new Float64Array(capacity));
    this.psnCount = grown(this.psnCount, new Uint32Array(capacity));
    this.marks = grown(this.marks, new Uint16Array(capacity));
    this.missing = grown(this.missing, new Uint32Array(capacity));
    this.refersTo = grown(this.refersTo, new Int32Array(capacity));
  }
}

/** A list of numbers below 2^32 that grows. */
export class NumberList {
  length = 0;
  #values = new Uint32Array(64);

  push(value: number): void {
    if (this.length === this.#values.length) this.#values = grown(this.#values, new Uint32Array(2 * this.length));
    this.#values[this.length++] = value;
  }

  /** 0 outside of the list. */
  at(index: number): number {
    return index < this.length ? (this.#values[index] ?? 0) : 0;
  }

  /** The values, sharing memory: to be read before the next `push`. */
  get values(): Uint32Array {
    return this.#values.subarray(0, this.length);
  }

  /** Index of the first value that is not below `value`; the list is in order. */
  lowerBound(value: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#values[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}

const FIRST_CAPACITY = 4096;
