/** Small frames, sinks and machines for the tests of the fabric. */
import type { FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import { FrameWriter as Writer } from '../../packets/frame-writer.ts';
import type { LinkSink } from '../../src/ground/link.ts';
import type { Host, Machine } from '../../src/ground/machine.ts';

/** 02:00:00:00:00:`id`. */
export function mac(id: number): Uint8Array {
  return Uint8Array.of(2, 0, 0, 0, 0, id);
}

export const BROADCAST = new Uint8Array(6).fill(0xff);

/** An Ethernet frame of an experimental EtherType whose payload starts with `tag` as a 32-bit number. */
export function frame(from: number, to: number | Uint8Array, tag: number, length = 64): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes.set(typeof to === 'number' ? mac(to) : to, 0);
  bytes.set(mac(from), 6);
  const view = new DataView(bytes.buffer);
  view.setUint16(12, 0x88b5);
  view.setUint32(14, tag);
  for (let at = 18; at < length; at++) bytes[at] = (tag + at) & 0xff;
  return bytes;
}

export function tagOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(14);
}

export function batchOf(...frames: readonly Uint8Array[]): FrameWriter {
  const longest = Math.max(64, ...frames.map((bytes) => bytes.length));
  const writer = new Writer(Math.max(1, frames.length), longest);
  for (const bytes of frames) writer.appendRaw(bytes, 0, bytes.length);
  return writer;
}

/** Keeps copies of what arrives, batch by batch. */
export class Collector implements LinkSink {
  readonly batches: Uint8Array[][] = [];
  writableCalls = 0;
  closedCalls = 0;
  onReceive: (() => void) | undefined;

  receive(batch: FrameBatch): void {
    const frames: Uint8Array[] = [];
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      frames.push(batch.bytes.slice(start, start + (batch.lengths[i] ?? 0)));
    }
    this.batches.push(frames);
    this.onReceive?.();
  }

  writable(): void {
    this.writableCalls++;
  }

  closed(): void {
    this.closedCalls++;
  }

  get frames(): Uint8Array[] {
    return this.batches.flat();
  }

  get tags(): number[] {
    return this.frames.map(tagOf);
  }
}

/** Sends numbered frames to a peer and counts what comes back; `script` decides when. */
export class Talker implements Machine {
  readonly received: { readonly at: number; readonly tag: number }[] = [];
  /** Frames to be sent at the next opportunity. */
  readonly outbox: Uint8Array[] = [];
  readonly host: Host;
  deadline = Infinity;
  timeouts = 0;
  transmitCalls = 0;
  onTimeout: () => void = () => {};
  onFrame: (tag: number, bytes: Uint8Array) => void = () => {};

  constructor(host: Host) {
    this.host = host;
  }

  post(...frames: readonly Uint8Array[]): void {
    this.outbox.push(...frames);
    this.host.wake();
  }

  setDeadline(time: number): void {
    this.deadline = time;
    this.host.wake();
  }

  receive(batch: FrameBatch): void {
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const bytes = batch.bytes.slice(start, start + (batch.lengths[i] ?? 0));
      this.received.push({ at: this.host.now(), tag: tagOf(bytes) });
      this.onFrame(tagOf(bytes), bytes);
    }
  }

  transmit(writer: FrameWriter): boolean {
    this.transmitCalls++;
    while (!writer.full) {
      const next = this.outbox.shift();
      if (next === undefined) return false;
      writer.appendRaw(next, 0, next.length);
    }
    return this.outbox.length > 0;
  }

  nextDeadline(): number {
    return this.deadline;
  }

  handleTimeouts(): void {
    this.timeouts++;
    this.deadline = Infinity;
    this.onTimeout();
  }
}
