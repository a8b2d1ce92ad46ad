/**
 * Credits in flight back to the sender: a freed buffer becomes a credit after the delay of the link. Owns the rows of
 * what is under way, in typed arrays with a list of free ones, and allocates only when they grow. Credits take no wire
 * time: InfiniBand's travel beside the data, in packets of 8 bytes.
 */
import type { EgressPort } from './egress-port.ts';
import { EventKind, type Transmitter } from './transmitter.ts';

const FIRST_ROWS = 256;

/** Credits of a network that are under way. */
export class CreditReturns {
  readonly #transmitter: Transmitter;
  readonly #ports: readonly EgressPort[];
  #port = new Int32Array(FIRST_ROWS);
  #priority = new Uint8Array(FIRST_ROWS);
  #bytes = new Int32Array(FIRST_ROWS);
  #free = new Int32Array(FIRST_ROWS);
  #freeCount = 0;

  constructor(transmitter: Transmitter, ports: readonly EgressPort[]) {
    this.#transmitter = transmitter;
    this.#ports = ports;
    this.#release(0, FIRST_ROWS);
  }

  /** The receiver at the other end of the link of `port` has passed the frame of a slot on. */
  freed(port: EgressPort, slot: number): void {
    if (port.credits === undefined) return;
    const { store, now } = this.#transmitter;
    if (this.#freeCount === 0) this.#grow();
    const row = this.#free[--this.#freeCount] as number;
    this.#port[row] = port.index;
    this.#priority[row] = store.priority(slot);
    this.#bytes[row] = store.length(slot);
    this.#transmitter.schedule(now + port.delayNs, EventKind.Credits, row);
  }

  /** For the event. */
  arrived(row: number): void {
    const port = this.#ports[this.#port[row] as number];
    const priority = this.#priority[row] as number;
    this.#free[this.#freeCount++] = row;
    port?.credits?.[priority]?.giveBack(this.#bytes[row] as number);
    if (port !== undefined) this.#transmitter.unblock(port, priority);
  }

  #grow(): void {
    const before = this.#port.length;
    const rows = before * 2;
    this.#port = withRoom(this.#port, new Int32Array(rows));
    this.#priority = withRoom(this.#priority, new Uint8Array(rows));
    this.#bytes = withRoom(this.#bytes, new Int32Array(rows));
    this.#free = withRoom(this.#free, new Int32Array(rows));
    this.#release(before, rows);
  }

  #release(from: number, to: number): void {
    for (let row = to - 1; row >= from; row--) this.#free[this.#freeCount++] = row;
  }
}

function withRoom<A extends { set(array: A): void }>(array: A, larger: A): A {
  larger.set(array);
  return larger;
}
