/**
 * A host's end of its cable: a `Link` that takes one frame, and no more until that one has left and the next step
 * begins. Owns the sink and whether the wire is busy. Never moves a frame: the network does.
 */

import type { LinkSink } from 'rocev2/browser';
import { type FrameBatch, Medium } from 'rocev2/packets';
import type { WorldPort } from 'rocev2/sim';

/** What a port needs of its network. */
export interface StepMedium {
  /** A packet has been put on a wire in this step. */
  readonly turnTaken: boolean;
  send(port: StepPort, batch: FrameBatch, index: number): void;
}

/** One end of a cable. */
export class StepPort implements WorldPort {
  readonly name: string;
  readonly host: number;
  readonly rateBps: number;
  readonly medium = Medium.Ethernet;
  /** Room for a path MTU of 4096 bytes. */
  readonly mtu = 4_500;
  readonly maxFrameBytes = 4_600;
  closed = false;
  /** A frame is being sent. */
  busy = false;
  /** The switch has asked it to pause. */
  paused = false;
  /** Packets sent. */
  sent = 0;
  readonly #network: StepMedium;
  #sink: LinkSink | undefined;
  #owesWritable = false;

  constructor(network: StepMedium, host: number, name: string, rateBps: number) {
    this.#network = network;
    this.host = host;
    this.name = name;
    this.rateBps = rateBps;
  }

  /** Asked before a frame is made; after a refusal the port says when to ask again. */
  get ready(): boolean {
    const ready = !this.busy && !this.paused && !this.#network.turnTaken;
    if (!ready) this.#owesWritable = true;
    return ready;
  }

  start(sink: LinkSink): Promise<void> {
    this.#sink = sink;
    return Promise.resolve();
  }

  send(batch: FrameBatch, from: number): number {
    if (from >= batch.count || !this.ready) return 0;
    this.#network.send(this, batch, from);
    return 1;
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  /** For the network: it may be possible to send again. */
  unblock(): void {
    if (!this.#owesWritable || this.busy || this.paused || this.#network.turnTaken) return;
    this.#owesWritable = false;
    this.#sink?.writable();
  }

  /** For the network: a frame has arrived. */
  deliver(frame: Uint8Array): void {
    const bytes = frame.slice();
    this.#sink?.receive({
      ...{ bytes, view: new DataView(bytes.buffer), count: 1 },
      ...{ starts: Int32Array.of(0), lengths: Int32Array.of(bytes.length) },
    });
  }
}
