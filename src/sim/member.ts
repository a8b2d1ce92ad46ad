/**
 * A machine in a simulated world: its port, the frames the port has not taken yet, and its place in the world's queues.
 * Owns the transfer between machine and port. Never decides when to transmit: `world.ts` does. Works with any port.
 */
import { invariant } from '../../packets/errors.ts';
import type { FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../ground/link.ts';
import type { Host, Machine } from '../ground/machine.ts';
import type { WriterPool } from './writer-pool.ts';

/** What a member needs of its port. */
export interface WorldPort extends Link {
  /** Longest frame, link header included, in bytes. */
  readonly maxFrameBytes: number;
  /** `close` was called. */
  readonly closed: boolean;
  /**
   * Whether `send` would take a frame now. After false, `writable` of the sink follows. Absent: unknown, and `send`
   * returns how many it took. So a machine whose port is busy makes its frames only when the port is free.
   */
  readonly ready?: boolean;
}

/** What a member needs of its world. */
export interface MemberWorld {
  readonly now: number;
  /** Gives the member a turn to transmit. */
  enqueue(member: Member): void;
}

/** One machine, its port, and its state in the world. */
export class Member implements Host, LinkSink {
  readonly index: number;
  readonly port: WorldPort;
  machine: Machine | undefined;
  /** Time of the entry in the world's queue that counts; Infinity for none. */
  armedAt = Infinity;
  readonly #world: MemberWorld;
  /** Frames the port has not taken yet, from `#unsent` on. */
  #writer: FrameWriter | undefined;
  #unsent = 0;
  #blocked = false;
  #woken = false;
  /** Each host counts its IPv4 identifications for itself, though writers are shared. */
  #nextIpId = 1;

  constructor(world: MemberWorld, index: number, port: WorldPort) {
    this.#world = world;
    this.index = index;
    this.port = port;
  }

  now(): number {
    return this.#world.now;
  }

  wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    this.#world.enqueue(this);
  }

  receive(batch: FrameBatch): void {
    this.machine?.receive(batch);
    this.wake();
  }

  writable(): void {
    this.#blocked = false;
    this.wake();
  }

  closed(): void {
    this.armedAt = Infinity;
  }

  nextDeadline(): number {
    return this.machine?.nextDeadline() ?? Infinity;
  }

  handleTimeouts(): void {
    this.armedAt = Infinity;
    this.machine?.handleTimeouts();
    this.wake();
  }

  /** One batch; with more to send the member queues behind the others, so that no machine monopolises an instant. */
  transmit(writers: WriterPool): void {
    this.#woken = false;
    if (this.#blocked || this.machine === undefined) return;
    if (this.#writer === undefined && this.port.ready === false) {
      this.#blocked = true;
      return;
    }
    if (this.#writer === undefined && this.machine.idle === true) return;
    const writer = this.#writer ?? writers.take(this.port.maxFrameBytes);
    let more = true;
    if (this.#writer === undefined) {
      writer.reset();
      writer.nextIpId = this.#nextIpId;
      more = this.machine.transmit(writer);
      this.#nextIpId = writer.nextIpId;
      this.#unsent = 0;
      invariant(!more || writer.count > 0, 'a machine that has more to send has sent something');
    }
    this.#unsent += this.port.send(writer, this.#unsent);
    this.#blocked = this.#unsent < writer.count;
    this.#writer = this.#blocked ? writer : undefined;
    if (this.#blocked) return;
    writers.giveBack(this.port.maxFrameBytes, writer);
    if (!more) return;
    if (this.port.ready === false) this.#blocked = true;
    else this.wake();
  }
}
