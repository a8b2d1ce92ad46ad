/**
 * Numbers of all egress ports of a network that change with every frame, packed: a cache line for each port and a
 * quarter of one for each queue. Owns the memory; what the numbers mean is `egress-port.ts`. Networks have thousands of
 * ports, and the ports on the path of a frame are not in the cache.
 */
import { CONTROL } from './options.ts';

export class PortTable {
  /** Rows of `PORT_FIELDS`. */
  readonly ports: Float64Array;
  /** Rows of `QUEUE_FIELDS`, `QUEUES` for each port. */
  readonly queues: Int32Array;

  /** Empty queues of `count` ports. */
  constructor(count: number) {
    this.ports = new Float64Array(count * PORT_FIELDS);
    this.queues = new Int32Array(count * QUEUES * QUEUE_FIELDS);
    for (let row = 0; row < this.queues.length; row += QUEUE_FIELDS) {
      this.queues[row + HEAD] = -1;
      this.queues[row + TAIL] = -1;
    }
  }
}

/** Of a port: those of data and the one of control frames. */
export const QUEUES = CONTROL + 1;

// Of a queue.
export const QUEUE_FIELDS = 4;
/** First and last frame, by slot; -1 for none. */
export const HEAD = 0;
export const TAIL = 1;
export const BYTES = 2;
export const FRAMES = 3;

// Of a port.
export const PORT_FIELDS = 8;
/** When the wire is free. */
export const FREE_AT = 0;
/** Nanoseconds a byte. */
export const BYTE_NS = 1;
export const SENT_FRAMES = 2;
export const SENT_BYTES = 3;
export const QUEUE_BYTES = 4;
export const PEAK_BYTES = 5;
