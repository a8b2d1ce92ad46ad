/**
 * The memory of a client: read and written by the kernel's process_vm_readv and process_vm_writev, for which client and
 * server have to be of one user. Owns the descriptor that tells of the client's end, after which its number may be
 * another process's. A copy allocates nothing.
 *
 * A call costs as much as the copy of some KiB. So what of a message follows on a packet is fetched with it, and what
 * comes of a message in one turn of the device is placed by one call. Memory is the program's: what was fetched is good
 * within that turn, and not after a write; what has come is placed by its end, and before anything is read.
 *
 * Measured with Node 20, the least of many calls: 64 bytes 1.9 us, 4 KiB 2.2 us, 64 KiB 7.3 us (read: 7.2), 1 MiB
 * 78 us.
 */
import type { ProcessMemory } from '../../uverbs/host.ts';
import { ENOSYS, EPERM, type Libc } from '../links/libc.ts';
import { DescriptorWatch } from '../links/poller.ts';

export class ClientMemory implements ProcessMemory {
  readonly #libc: Libc;
  readonly #pid: number;
  readonly #pidfd: number;
  readonly #watch: DescriptorWatch | undefined;
  readonly #vectors = new Uint32Array(8);
  readonly #local: number;
  #isGone = false;
  /** What was fetched ahead, in `AHEAD`: whose, from which address to which. */
  #aheadFrom = 0;
  #aheadTo = 0;
  /** Where the last read ended: the next is that of the same message when it begins there. */
  #readTo = -1;
  #forgets = false;
  /** The last message of several packets went on within its turn: all of the next is fetched with its first packet. */
  #goesOn = false;
  /** Where that first packet ended, NaN once forgotten: a message that goes no further was fetched in vain. */
  #firstTo = Number.NaN;
  #isDenied = false;
  readonly #denied: () => void;

  /** @param denied told once when the kernel refuses a copy for want of rights: a program can take them away */
  constructor(libc: Libc, pid: number, denied: () => void = () => {}) {
    this.#denied = denied;
    this.#libc = libc;
    this.#pid = pid;
    this.#local = libc.address(this.#vectors.buffer);
    this.#pidfd = libc.pidfdOpen(pid);
    if (this.#pidfd < 0) this.#isGone = true;
    else this.#watch = new DescriptorWatch(libc, this.#pidfd, () => this.close());
  }

  /** Whether the kernel lets this process reach that memory; tells `denied` where it does not. */
  probe(): boolean {
    // Where nothing is: EFAULT comes after the question for rights.
    this.#copy(0, PROBE, 0, 1);
    return !this.#isDenied;
  }

  read(address: number, to: Uint8Array, toAt: number, length: number, ahead = length): boolean {
    if (length === 0) return true;
    placeEarly();
    const isNext = address === this.#readTo;
    if (isNext) this.#goesOn = true;
    else this.#forget();
    if (this.#goesOn && this.#fetched(address, to, toAt, length, ahead)) {
      if (!(toAt >= 0 && toAt + length <= to.length)) return false;
      const from = aheadAt + address - this.#aheadFrom;
      to.set(AHEAD.subarray(from, from + length), toAt);
      if (!isNext) this.#firstTo = address + length;
    } else {
      this.#forget();
      if (!this.#copy(address, to, toAt, length)) return false;
      if (ahead <= length) return true;
    }
    this.#readTo = address + length;
    this.#forgetLater();
    return true;
  }

  write(
    address: number,
    from: Uint8Array,
    fromAt: number,
    length: number,
    more = false,
    writer: object | undefined = undefined,
  ): boolean {
    if (length === 0) return true;
    this.#forget();
    const goesOn = waitingOf === this && waitingWriter === writer && address === waitingTo;
    if (!goesOn || waitingTo - waitingFrom + length > MOST_WAITING) placeEarly();
    if (hasLost && writer !== undefined && isLost(writer, address)) return false;
    if (waitingOf === undefined && (!more || length > MOST_WAITING)) return this.#place(address, from, fromAt, length);
    if (!(fromAt >= 0 && length > 0 && fromAt + length <= from.length)) return false;
    if (waitingOf === undefined) {
      waitingFrom = address;
      waitingTo = address;
      waitingAt = apartFrom(this.#libc, WAITING, from, fromAt);
      placeLater();
    }
    waitingOf = this;
    waitingWriter = writer;
    WAITING.set(from.subarray(fromAt, fromAt + length), waitingAt + waitingTo - waitingFrom);
    waitingTo += length;
    return more || placeWaiting();
  }

  /** Copies what waits, which is for this memory. */
  place(address: number, length: number): boolean {
    return this.#place(address, WAITING, waitingAt, length);
  }

  /** Reaches nothing any more. May be called more than once. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#forget();
    this.#watch?.stop();
    this.#libc.close(this.#pidfd);
  }

  #place(address: number, from: Uint8Array, fromAt: number, length: number): boolean {
    if (!this.#prepare(address, from, fromAt, length)) return false;
    return this.#isWhole(this.#libc.processVmWritev(this.#pid, this.#local, this.#local + VECTOR_BYTES), length);
  }

  #copy(address: number, to: Uint8Array, toAt: number, length: number): boolean {
    if (!this.#prepare(address, to, toAt, length)) return false;
    return this.#isWhole(this.#libc.processVmReadv(this.#pid, this.#local, this.#local + VECTOR_BYTES), length);
  }

  #isWhole(copied: number, length: number): boolean {
    if (copied === length) return true;
    const errno = copied < 0 ? this.#libc.errno() : 0;
    if ((errno === EPERM || errno === ENOSYS) && !this.#isDenied) {
      this.#isDenied = true;
      this.#denied();
    }
    return false;
  }

  /**
   * Whether `AHEAD` has these bytes, by now. Of a message that is gone before its end, what is there is found singly.
   */
  #fetched(address: number, to: Uint8Array, toAt: number, length: number, ahead: number): boolean {
    if (aheadOf === this && address + length <= this.#aheadTo) return true;
    const most = Math.min(ahead, MOST_AHEAD);
    if (most <= length) return false;
    aheadAt = apartFrom(this.#libc, AHEAD, to, toAt);
    // A copy that fails may have overwritten what another client had there.
    aheadOf = undefined;
    if (!this.#copy(address, AHEAD, aheadAt, most)) return false;
    aheadOf = this;
    this.#aheadFrom = address;
    this.#aheadTo = address + most;
    return true;
  }

  #forgetLater(): void {
    if (this.#forgets) return;
    this.#forgets = true;
    // A device sends within one call: microtasks run after it.
    queueMicrotask(this.#turnOver);
  }

  readonly #turnOver = (): void => {
    this.#forgets = false;
    this.#forget();
  };

  #forget(): void {
    if (this.#readTo === this.#firstTo) this.#goesOn = false;
    this.#firstTo = Number.NaN;
    this.#readTo = -1;
    this.#aheadTo = 0;
  }

  /** Puts both places into the vectors. False for a place that no process has, or bytes that `buffer` does not have. */
  #prepare(address: number, buffer: Uint8Array, at: number, length: number): boolean {
    if (this.#isGone || !(address >= 0 && address + length <= END_OF_USER)) return false;
    if (!(at >= 0 && length >= 0 && at + length <= buffer.length)) return false;
    const local = addressOf(this.#libc, buffer) + at;
    const vectors = this.#vectors;
    vectors[0] = local;
    vectors[1] = local / WORD;
    vectors[2] = length;
    vectors[3] = length / WORD;
    vectors[4] = address;
    vectors[5] = address / WORD;
    vectors[6] = length;
    vectors[7] = length / WORD;
    return true;
  }
}

/** Copies to where it belongs what waits of any message; false when it cannot be. */
function placeWaiting(): boolean {
  const memory = waitingOf;
  waitingOf = undefined;
  return memory === undefined || memory.place(waitingFrom, waitingTo - waitingFrom);
}

/** The same before the message has gone on: it hears of a failure when it does. */
function placeEarly(): void {
  if (placeWaiting()) return;
  if (waitingWriter === undefined) return;
  hasLost = true;
  LOST.set(waitingWriter, waitingTo);
}

/** Whether what came before these bytes could not be placed. Asked once: the message fails, or is another one. */
function isLost(writer: object, address: number): boolean {
  const lostTo = LOST.get(writer);
  if (lostTo === undefined) return false;
  LOST.delete(writer);
  return lostTo === address;
}

function placeLater(): void {
  if (isPlacedLater) return;
  isPlacedLater = true;
  // A device receives within one call: microtasks run after it.
  queueMicrotask(atTurnsEnd);
}

function atTurnsEnd(): void {
  isPlacedLater = false;
  placeEarly();
}

/** Asked for once for each buffer: the answer of koffi is a BigInt. */
function addressOf(libc: Libc, bytes: Uint8Array): number {
  const { buffer } = bytes;
  let address = ADDRESSES.get(buffer);
  if (address === undefined) {
    address = libc.address(new Uint8Array(buffer));
    ADDRESSES.set(buffer, address);
  }
  return address + bytes.byteOffset;
}

/**
 * Where in `buffer` to put bytes that are copied from or to `at` of `other`, packet after packet: half a page away from
 * it within their pages. Copies of 4 KiB between places whose offsets in a page are 1 to 32 bytes apart take twenty
 * times as long (seen on an AMD EPYC: 7,000 ns instead of 250; ref:platform#6).
 */
function apartFrom(libc: Libc, buffer: Uint8Array, other: Uint8Array, at: number): number {
  const distance = addressOf(libc, other) + at - addressOf(libc, buffer);
  return (((distance + PAGE_BYTES / 2) % PAGE_BYTES) + PAGE_BYTES) % PAGE_BYTES;
}

const PROBE = new Uint8Array(1);
const PAGE_BYTES = 4096;
const MOST_AHEAD = 0x1_00_00;
/** Of all clients, who has it, and where in it the bytes begin. */
const AHEAD = new Uint8Array(MOST_AHEAD + PAGE_BYTES);
let aheadAt = 0;
let aheadOf: ClientMemory | undefined;
/** Bytes of one message that have come, in its order: whose, of which message, from which address to which. */
const MOST_WAITING = 0x1_00_00;
const WAITING = new Uint8Array(MOST_WAITING + PAGE_BYTES);
/** Where in it they begin. */
let waitingAt = 0;
let waitingOf: ClientMemory | undefined;
let waitingWriter: object | undefined;
let waitingFrom = 0;
let waitingTo = 0;
let isPlacedLater = false;
/** Messages of which bytes could not be placed, and where each of them goes on. */
const LOST = new WeakMap<object, number>();
/** Whether there ever was one: a program whose memory goes away is rare, and a look at the map is not free. */
let hasLost = false;
const ADDRESSES = new WeakMap<ArrayBufferLike, number>();
const VECTOR_BYTES = 16;
const WORD = 2 ** 32;
const END_OF_USER = 2 ** 47;
