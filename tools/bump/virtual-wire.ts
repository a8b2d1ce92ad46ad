/**
 * A bump in virtual time: two ports with the two fault paths of `roce bump` between them, its recorder and its capture.
 * A `World` takes the place of links and timer, so that hundreds of runs take seconds and come out the same each time.
 */

import type { LinkSink } from 'rocev2';
import { FaultEngine, FaultPath, type WireFaults, type WireRule } from 'rocev2/faults';
import { type FrameBatch, Medium } from 'rocev2/packets';
import { MAX_ETHERNET_BYTES } from 'rocev2/packets/network';
import type { WorldNetwork, WorldPort } from 'rocev2/sim';
import type { EventAccount } from './account.ts';
import { BumpCapture } from './capture.ts';
import { BumpRecorder } from './recorder.ts';

export interface BumpWireOptions {
  readonly seed: number;
  readonly rules?: readonly WireRule[];
  readonly faults?: WireFaults;
  /** Default 1500. */
  readonly mtu?: number;
}

/** A network of two ports: the first that is attached is end a. */
export class BumpWire implements WorldNetwork {
  now = 0;
  readonly #ports: BumpPort[] = [];
  readonly #paths: readonly [FaultPath, FaultPath];
  readonly #recorder: BumpRecorder;
  readonly #capture: BumpCapture;
  readonly #pieces: Uint8Array[] = [];
  readonly #mtu: number;

  constructor({ mtu = 1500, ...options }: BumpWireOptions) {
    const clock = { at: (timeNs: number) => ({ seconds: Math.floor(timeNs / 1e9), nanoseconds: timeNs % 1e9 }) };
    this.#mtu = mtu;
    this.#capture = new BumpCapture(() => {}, ['a', 'b'], clock, `seed ${options.seed}`);
    this.#recorder = new BumpRecorder(clock, this.#capture);
    const engine = new FaultEngine({ ...options, medium: Medium.Ethernet });
    const path = (direction: number): FaultPath =>
      new FaultPath(engine, direction, { maxFrameBytes: mtu + MAX_ETHERNET_BYTES, observer: this.#recorder });
    this.#paths = [path(0), path(1)];
  }

  get framesInFlight(): number {
    return this.#paths[0].waiting + this.#paths[1].waiting;
  }

  /** What the account of a bump has as events. */
  get events(): readonly EventAccount[] {
    return this.#recorder.events;
  }

  /** The capture so far. */
  capture(): Uint8Array {
    this.#pieces.push(this.#capture.take());
    const whole = new Uint8Array(this.#pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  nextEventTime(): number {
    return Math.min(this.#paths[0].nextDeadline(), this.#paths[1].nextDeadline());
  }

  deliverDue(now: number): void {
    this.now = now;
    for (const [direction, path] of this.#paths.entries()) {
      path.flush(now, (batch, from) => {
        this.#ports[1 - direction]?.deliver(batch, from);
        return batch.count - from;
      });
    }
  }

  attach(name: string, _options: object = {}): WorldPort {
    const path = this.#paths[this.#ports.length === 0 ? 0 : 1];
    const port = new BumpPort(name, this.#mtu, (batch, from) => path.enter(this.now, batch, from, batch.count));
    this.#ports.push(port);
    return port;
  }
}

class BumpPort implements WorldPort {
  readonly name: string;
  readonly mtu: number;
  readonly medium = Medium.Ethernet;
  closed = false;
  #sink: LinkSink | undefined;
  readonly #enter: (batch: FrameBatch, from: number) => void;

  constructor(name: string, mtu: number, enter: (batch: FrameBatch, from: number) => void) {
    this.name = name;
    this.mtu = mtu;
    this.#enter = enter;
  }

  get maxFrameBytes(): number {
    return this.mtu + MAX_ETHERNET_BYTES;
  }

  start(sink: LinkSink): Promise<void> {
    this.#sink = sink;
    return Promise.resolve();
  }

  send(batch: FrameBatch, from: number): number {
    this.#enter(batch, from);
    return batch.count - from;
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  deliver(batch: FrameBatch, from: number): void {
    if (from !== 0) throw new Error('a port takes whole batches');
    this.#sink?.receive(batch);
  }
}
