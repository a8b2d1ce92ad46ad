/**
 * The packet memory of one switch: how much of it each queue may use, when a sender must be paused, and what is
 * dropped.
 *
 * Owns counts of bytes and nothing else: no frame, no time, no PFC frame. Lossless priorities are counted where they
 * came in, in three parts: a reserve that is always there, a share of the pool up to a threshold that shrinks as the
 * pool fills, and headroom for what is still under way when the sender is paused. The others are counted where they go
 * out and dropped at the tail. Per frame it allocates nothing and takes no branch by name.
 *
 * ```
 *   bytes = reserves of all (port, lossless priority) | headroom of all (port, lossless priority) | pool, shared by all
 * ```
 *
 * Rules: ref:dcqcn#4 (PFC model), which is that of the HPCC simulator's switch-mmu; the limit of lossy queues is the
 * dynamic threshold of Choudhury and Hahne (IEEE/ACM ToN 1998): alpha times what is free.
 */
import { invariant, RoceError } from '../../../packets/errors.ts';

/** Size and rules of a switch's packet memory; bytes throughout. */
export interface SharedBufferOptions {
  /** The whole memory, below 2^31. */
  readonly bytes: number;
  /** Ports, numbered from 0. */
  readonly ports: number;
  /** Bit n: priority n is lossless; 8 bits. */
  readonly losslessPriorities: number;
  /** What every (port, lossless priority) has for itself. Default 4096. */
  readonly reserveBytes?: number;
  /** How far below the threshold a sender is resumed. Default 3072. */
  readonly xonOffsetBytes?: number;
  /** Headroom of each lossless priority of each port. */
  readonly headroomBytes: readonly number[];
  /** Of each port: the threshold is what is free of the pool, shifted right by this (0..30). */
  readonly pfcShift: readonly number[];
  /** A threshold that does not move, instead of the shift. */
  readonly staticXoffBytes?: number;
  /** A lossy queue may hold this times what is free of the pool. Default 1. */
  readonly lossyAlpha?: number;
}

/** Counters of a buffer. */
export interface SharedBufferCounters {
  /** Lossless frames for which the headroom was too small: 0 where the headroom is right. */
  losslessDrops: number;
  /** Bytes of `losslessDrops`. */
  losslessDroppedBytes: number;
  /** Lossy frames beyond the limit of their queue. */
  lossyDrops: number;
  /** Bytes of `lossyDrops`. */
  lossyDroppedBytes: number;
  /** Times that a sender had to be paused. */
  pauses: number;
  /** Times that a sender was resumed. */
  resumes: number;
  /** Most headroom ever in use at once by one (port, priority). */
  peakHeadroomBytes: number;
  /** Most of the pool ever in use. */
  peakSharedBytes: number;
}

/** Accounts of one switch. The caller must release everything admitted once, with the same arguments. */
export class SharedBuffer {
  /** What happened so far. */
  readonly counters: SharedBufferCounters = {
    losslessDrops: 0,
    losslessDroppedBytes: 0,
    lossyDrops: 0,
    lossyDroppedBytes: 0,
    pauses: 0,
    resumes: 0,
    peakHeadroomBytes: 0,
    peakSharedBytes: 0,
  };
  /** What is neither reserved nor headroom, in bytes. */
  readonly poolBytes: number;
  readonly #lossless: number;
  readonly #reserve: number;
  readonly #xonOffset: number;
  readonly #headroomLimit: Int32Array;
  readonly #shift: Uint8Array;
  /** -1: the threshold follows the pool. */
  readonly #staticXoff: number;
  readonly #alpha: number;
  /** Of (ingress, priority): reserve and share of the pool together. */
  readonly #ingress: Int32Array;
  /** Of (ingress, priority): headroom in use. */
  readonly #headroom: Int32Array;
  /** Of (ingress, priority): 1 while its sender is paused. */
  readonly #pausing: Uint8Array;
  /** Of (egress, priority), lossy ones only: what waits there. */
  readonly #egress: Int32Array;
  #shared = 0;
  #used = 0;
  #peak = 0;

  /** An empty buffer. @throws RoceError ERR_ROCE_ARGUMENT naming the option that is out of range */
  constructor(options: SharedBufferOptions) {
    const { ports, losslessPriorities, headroomBytes, pfcShift } = options;
    this.poolBytes = checkedPool(options);
    this.#lossless = losslessPriorities;
    this.#reserve = options.reserveBytes ?? DEFAULT_RESERVE_BYTES;
    this.#xonOffset = options.xonOffsetBytes ?? DEFAULT_XON_OFFSET_BYTES;
    this.#headroomLimit = Int32Array.from(headroomBytes);
    this.#shift = Uint8Array.from(pfcShift);
    this.#staticXoff = options.staticXoffBytes ?? -1;
    this.#alpha = options.lossyAlpha ?? 1;
    const queues = ports * PRIORITIES;
    this.#ingress = new Int32Array(queues);
    this.#headroom = new Int32Array(queues);
    this.#pausing = new Uint8Array(queues);
    this.#egress = new Int32Array(queues);
  }

  /** Bytes in the buffer. */
  get usedBytes(): number {
    return this.#used;
  }

  /** Most bytes that ever were in it. */
  get peakBytes(): number {
    return this.#peak;
  }

  /** Bytes of the pool in use. */
  get sharedBytes(): number {
    return this.#shared;
  }

  /** Takes a frame in, which came in at `ingress` and goes out at `egress`; false: it is dropped, and counted. */
  admit(ingress: number, egress: number, priority: number, bytes: number): boolean {
    if (!this.#admitted(ingress, egress, priority, bytes)) return false;
    this.#used += bytes;
    if (this.#used > this.#peak) this.#peak = this.#used;
    if (this.#shared > this.counters.peakSharedBytes) this.counters.peakSharedBytes = this.#shared;
    return true;
  }

  /** Gives the memory of an admitted frame back: it has left. */
  release(ingress: number, egress: number, priority: number, bytes: number): void {
    if (this.isLossless(priority)) this.#releaseLossless(ingress * PRIORITIES + priority, bytes);
    else this.#releaseLossy(egress * PRIORITIES + priority, bytes);
    this.#used -= bytes;
    invariant(this.#used >= 0 && this.#shared >= 0, 'no more leaves a buffer than came in');
  }

  /** Call after `admit`: true, once, when the sender at `ingress` must be paused. */
  takePause(ingress: number, priority: number): boolean {
    const queue = ingress * PRIORITIES + priority;
    if (!this.isLossless(priority) || this.#pausing[queue] === 1) return false;
    if ((this.#headroom[queue] as number) === 0 && this.#sharedOf(queue) < this.thresholdBytes(ingress)) return false;
    this.#pausing[queue] = 1;
    this.counters.pauses++;
    return true;
  }

  /**
   * Call after `release`: true, once, when the sender at `ingress` may resume. With nothing in the pool it always may,
   * since no later release would report it.
   */
  takeResume(ingress: number, priority: number): boolean {
    const queue = ingress * PRIORITIES + priority;
    if (this.#pausing[queue] !== 1 || (this.#headroom[queue] as number) > 0) return false;
    const shared = this.#sharedOf(queue);
    if (shared > 0 && shared + this.#xonOffset > this.thresholdBytes(ingress)) return false;
    this.#pausing[queue] = 0;
    this.counters.resumes++;
    return true;
  }

  /** Whether the sender at `ingress` is paused: between a pause taken and the resume taken. For refreshing a pause. */
  isPausing(ingress: number, priority: number): boolean {
    return this.#pausing[ingress * PRIORITIES + priority] === 1;
  }

  /** Whether `priority` is one that is paused instead of dropped. */
  isLossless(priority: number): boolean {
    return ((this.#lossless >>> priority) & 1) === 1;
  }

  /** How much of the pool each lossless priority of `ingress` may use now before its sender must pause. */
  thresholdBytes(ingress: number): number {
    if (this.#staticXoff >= 0) return this.#staticXoff;
    return (this.poolBytes - this.#shared) >> (this.#shift[ingress] as number);
  }

  /** What lossless frames from `ingress` hold of the pool. */
  sharedBytesOf(ingress: number, priority: number): number {
    return this.isLossless(priority) ? this.#sharedOf(ingress * PRIORITIES + priority) : 0;
  }

  /** What lossless frames from `ingress` hold of their headroom. */
  headroomBytesOf(ingress: number, priority: number): number {
    return this.#headroom[ingress * PRIORITIES + priority] as number;
  }

  /** What lossless frames from `ingress` hold of their reserve. */
  reservedBytesOf(ingress: number, priority: number): number {
    return Math.min(this.#ingress[ingress * PRIORITIES + priority] as number, this.#reserve);
  }

  /** What lossy frames hold that wait for `egress`. */
  lossyBytesOf(egress: number, priority: number): number {
    return this.#egress[egress * PRIORITIES + priority] as number;
  }

  #admitted(ingress: number, egress: number, priority: number, bytes: number): boolean {
    return this.isLossless(priority)
      ? this.#admitLossless(ingress, ingress * PRIORITIES + priority, bytes)
      : this.#admitLossy(egress * PRIORITIES + priority, bytes);
  }

  #admitLossless(ingress: number, queue: number, bytes: number): boolean {
    const before = this.#ingress[queue] as number;
    const beyondReserve = before + bytes - this.#reserve;
    const fromPool = Math.min(bytes, beyondReserve);
    if (fromPool > 0) {
      // Whole frames go to headroom, as in the model: that is why headroom counts the frame that trips the threshold
      // too.
      if (beyondReserve > this.thresholdBytes(ingress) || fromPool > this.poolBytes - this.#shared) {
        return this.#admitToHeadroom(ingress, queue, bytes);
      }
      this.#shared += fromPool;
    }
    this.#ingress[queue] = before + bytes;
    return true;
  }

  #admitToHeadroom(ingress: number, queue: number, bytes: number): boolean {
    const after = (this.#headroom[queue] as number) + bytes;
    if (after > (this.#headroomLimit[ingress] as number)) {
      this.counters.losslessDrops++;
      this.counters.losslessDroppedBytes += bytes;
      return false;
    }
    this.#headroom[queue] = after;
    if (after > this.counters.peakHeadroomBytes) this.counters.peakHeadroomBytes = after;
    return true;
  }

  #admitLossy(queue: number, bytes: number): boolean {
    const free = this.poolBytes - this.#shared;
    const after = (this.#egress[queue] as number) + bytes;
    if (bytes > free || after > this.#alpha * free) {
      this.counters.lossyDrops++;
      this.counters.lossyDroppedBytes += bytes;
      return false;
    }
    this.#egress[queue] = after;
    this.#shared += bytes;
    return true;
  }

  /** Headroom is given back first, so that it is there again soonest; then the pool, and the reserve last. */
  #releaseLossless(queue: number, bytes: number): void {
    const headroom = this.#headroom[queue] as number;
    const fromHeadroom = Math.min(headroom, bytes);
    const rest = bytes - fromHeadroom;
    this.#headroom[queue] = headroom - fromHeadroom;
    this.#shared -= Math.min(rest, this.#sharedOf(queue));
    const left = (this.#ingress[queue] as number) - rest;
    invariant(left >= 0, 'no more leaves for an ingress than came in there');
    this.#ingress[queue] = left;
  }

  #releaseLossy(queue: number, bytes: number): void {
    const left = (this.#egress[queue] as number) - bytes;
    invariant(left >= 0, 'no more leaves an egress than was put there');
    this.#egress[queue] = left;
    this.#shared -= bytes;
  }

  #sharedOf(queue: number): number {
    return Math.max((this.#ingress[queue] as number) - this.#reserve, 0);
  }
}

/** What is left of the memory for all, after checking every option. */
function checkedPool(options: SharedBufferOptions): number {
  const { bytes, ports, losslessPriorities, headroomBytes, pfcShift } = options;
  checkInteger('bytes', bytes, 1, MAX_BYTES);
  checkInteger('ports', ports, 1, MAX_PORTS);
  checkInteger('losslessPriorities', losslessPriorities, 0, 0xff);
  const reserve = options.reserveBytes ?? DEFAULT_RESERVE_BYTES;
  checkInteger('reserveBytes', reserve, 0, MAX_BYTES);
  checkInteger('xonOffsetBytes', options.xonOffsetBytes ?? 0, 0, MAX_BYTES);
  checkInteger('staticXoffBytes', options.staticXoffBytes ?? 0, 0, MAX_BYTES);
  const alpha = options.lossyAlpha ?? 1;
  if (!(alpha > 0)) refuse(`lossyAlpha must be above 0, not ${alpha}`);
  checkInteger('length of headroomBytes', headroomBytes.length, ports, ports);
  checkInteger('length of pfcShift', pfcShift.length, ports, ports);
  for (const headroom of headroomBytes) checkInteger('headroomBytes', headroom, 0, MAX_BYTES);
  for (const shift of pfcShift) checkInteger('pfcShift', shift, 0, MAX_SHIFT);

  const priorities = bitsSet(losslessPriorities);
  const headroom = headroomBytes.reduce((sum, each) => sum + each, 0);
  const taken = priorities * (headroom + ports * reserve);
  if (taken > bytes) {
    refuse(`bytes: ${bytes} are fewer than the headroom and reserves of ${ports} ports take, ${taken}`);
  }
  return bytes - taken;
}

function checkInteger(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    refuse(`${name} must be ${min === max ? min : `an integer of ${min}..${max}`}, not ${value}`);
  }
}

function refuse(reason: string): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', `switch buffer: ${reason}`);
}

function bitsSet(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

const PRIORITIES = 8;
/** Sums stay within 32 bits, which is what the shift and the typed arrays work with. */
const MAX_BYTES = 2 ** 31 - 1;
const MAX_PORTS = 65_536;
const MAX_SHIFT = 30;
const DEFAULT_RESERVE_BYTES = 4096;
const DEFAULT_XON_OFFSET_BYTES = 3072;
