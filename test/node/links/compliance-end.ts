/**
 * One end of the link compliance suite: sends numbered RoCE packets as the link takes them, checks those that arrive
 * one by one.
 */
import { expect } from 'vitest';
import { IpAddress, type MacAddress } from '../../../packets/address.ts';
import { BTH_BYTES, writeBth } from '../../../packets/bth.ts';
import { DETH_BYTES, writeDeth } from '../../../packets/deth.ts';
import type { RoceError } from '../../../packets/errors.ts';
import { Frame, FrameStatus, parseFrame } from '../../../packets/frame.ts';
import { type FrameBatch, FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../packets/header-template.ts';
import { ICRC_BYTES, icrcMatches } from '../../../packets/icrc.ts';
import { Op } from '../../../packets/opcode.ts';
import { type Link, type LinkSink, readsEcn, setsEcn } from '../../../src/ground/link.ts';

/** Who an end is. */
export interface Station {
  readonly address: string;
  readonly mac: MacAddress;
  readonly qpn: number;
}

/** An IPv6 packet with a number as its payload. */
export const MIN_PACKET_BYTES = 40 + 8 + BTH_BYTES + DETH_BYTES + 4 + ICRC_BYTES;
const LINK_HEADER_BYTES = 14;
const OVERSIZE_BYTES = 200;

export class End implements LinkSink {
  readonly link: Link;
  /** For the window; the suite sets it. */
  peer: End | undefined;
  onReceive: (() => void) | undefined;
  onWritable: (() => void) | undefined;
  onClosed: (() => void) | undefined;
  sent = 0;
  received = 0;
  /** Number of the newest packet that arrived; -1 before the first. */
  newest = -1;
  outOfOrder = 0;
  /** Of packets that arrived. */
  readonly trafficClasses = new Set<number>();
  /** The longest IP packet that arrived. */
  longest = 0;
  shortSends = 0;
  writableCalls = 0;
  closedCalls = 0;
  closedError: RoceError | undefined;
  readonly #us: Station;
  readonly #them: Station;
  readonly #version: 4 | 6;
  readonly #window: number;
  readonly #writer: FrameWriter;
  readonly #frame = new Frame();
  readonly #lengths: number[] = [];
  readonly #trafficClasses: number[] = [];
  readonly #templates = new Map<number, HeaderTemplate>();
  #next = 0;
  #sending = false;
  #blocked = false;
  #flooding = false;

  constructor(link: Link, us: Station, them: Station, window: number) {
    this.link = link;
    this.#us = us;
    this.#them = them;
    this.#version = IpAddress.parse(us.address).version;
    this.#window = window;
    this.#writer = new FrameWriter(64, link.mtu + LINK_HEADER_BYTES + OVERSIZE_BYTES);
  }

  start(): Promise<void> {
    return this.link.start(this);
  }

  /** Adds packets to be sent, of `length` bytes from the IP header on, rounded down to a multiple of 4. */
  queue(count: number, length = 120, trafficClass = 0): void {
    for (let i = 0; i < count; i++) {
      this.#lengths.push(length & ~3);
      this.#trafficClasses.push(trafficClass);
    }
  }

  /** Whether the traffic class of what this end sends is to be seen at the other. */
  get carriesClass(): boolean {
    return setsEcn(this.link, this.#version) && this.peer !== undefined && readsEcn(this.peer.link, this.#version);
  }

  get pending(): number {
    return this.#lengths.length - this.#next;
  }

  /** Queues and offers without regard to the window. */
  flood(count: number, length: number): void {
    this.#flooding = true;
    this.queue(count, length);
    this.offer();
  }

  /** Sends what is queued until the link says stop or the window is full. */
  offer(): void {
    while (this.pending > 0 && !this.#blocked && this.#room() > 0) {
      const writer = this.#writer;
      writer.reset();
      const room = Math.min(this.pending, this.#room());
      while (!writer.full && writer.count < room) this.#append(writer, this.#next + writer.count);
      this.#sending = true;
      const taken = this.link.send(writer, 0);
      this.#sending = false;
      // The batch is ours again: whatever the link wanted to keep it has copied.
      writer.bytes.fill(0xa5);
      expect(taken).toBeLessThanOrEqual(writer.count);
      this.#next += taken;
      this.sent += taken;
      if (taken === writer.count) continue;
      this.#blocked = true;
      this.shortSends++;
    }
  }

  /** A packet longer than the link carries; it has no number, so nobody misses it. */
  sendOversize(): void {
    const writer = this.#writer;
    writer.reset();
    this.#write(writer, (this.link.mtu & ~3) + OVERSIZE_BYTES, 0, OVERSIZE_QPN, 0);
    expect(() => this.link.send(writer, 0)).not.toThrow();
  }

  receive(batch: FrameBatch): void {
    expect(this.#sending).toBe(false);
    expect(batch.count).toBeGreaterThan(0);
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      this.#check(batch, start, start + (batch.lengths[i] ?? 0));
    }
    this.peer?.offer();
    this.onReceive?.();
  }

  writable(): void {
    expect(this.#sending).toBe(false);
    this.writableCalls++;
    this.#blocked = false;
    this.onWritable?.();
    this.offer();
  }

  closed(error?: RoceError): void {
    this.closedCalls++;
    this.closedError = error;
    this.onClosed?.();
  }

  #room(): number {
    if (this.#flooding || this.#window === Infinity) return Infinity;
    return this.#window - (this.sent - (this.peer?.received ?? 0));
  }

  #append(writer: FrameWriter, number: number): void {
    const trafficClass = this.#trafficClasses[number] ?? 0;
    this.#write(writer, this.#lengths[number] ?? 0, number, this.#them.qpn, trafficClass);
  }

  #write(writer: FrameWriter, packetBytes: number, number: number, destQpn: number, trafficClass: number): void {
    const template = this.#headers(trafficClass);
    const bth = writer.begin(template);
    const end = bth - (template.length - template.ipOffset) + packetBytes - ICRC_BYTES;
    const payload = bth + BTH_BYTES + DETH_BYTES;
    writeBth(writer.view, bth, Op.UdSendOnly, 0, 1, 0, 0xff_ff, destQpn, 0, number & 0xff_ff_ff);
    writeDeth(writer.view, bth + BTH_BYTES, 0x11_11_11_11, this.#us.qpn);
    writer.view.setUint32(payload, number);
    for (let at = payload + 4; at < end; at++) writer.bytes[at] = (at - payload + number) & 0xff;
    writer.end(template, end);
  }

  #headers(trafficClass: number): HeaderTemplate {
    const known = this.#templates.get(trafficClass);
    if (known !== undefined) return known;
    const template = new HeaderTemplate({
      medium: this.link.medium,
      sourceMac: this.#us.mac,
      destMac: this.#them.mac,
      source: IpAddress.parse(this.#us.address),
      destination: IpAddress.parse(this.#them.address),
      trafficClass,
      hopLimit: 64,
      flowLabel: 0,
      sourcePort: this.link.sourcePort ?? 0xc1_23,
    });
    this.#templates.set(trafficClass, template);
    return template;
  }

  /**
   * Content follows from the number; compared without an assertion per byte. What else is on the wire is none of our
   * business.
   */
  #check(batch: FrameBatch, start: number, end: number): void {
    const frame = this.#frame;
    const status = parseFrame(batch.bytes, batch.view, start, end, this.link.medium, frame);
    if (status !== FrameStatus.Ok || frame.destQpn !== this.#us.qpn) return;
    const { payloadOffset, payloadLength } = frame;
    const number = batch.view.getUint32(payloadOffset);
    let wrong = icrcMatches(frame) ? 0 : 1;
    for (let at = 4; at < payloadLength; at++) {
      if (batch.bytes[payloadOffset + at] !== ((at + number) & 0xff)) wrong++;
    }
    if (wrong > 0) expect({ packet: number, wrong }).toEqual({ packet: number, wrong: 0 });
    const trafficClass = this.peer?.carriesClass ? (this.peer.#trafficClasses[number] ?? 0) : 0;
    if (frame.trafficClass !== trafficClass)
      expect({ packet: number, trafficClass: frame.trafficClass }).toEqual({ packet: number, trafficClass });
    this.trafficClasses.add(frame.trafficClass);
    if (number <= this.newest) this.outOfOrder++;
    if (this.peer !== undefined && !this.peer.#flooding && number !== this.received)
      expect({ arrived: number }).toEqual({ arrived: this.received });
    this.newest = Math.max(this.newest, number);
    this.longest = Math.max(this.longest, frame.ipEnd - frame.ipOffset);
    this.received++;
  }
}

const OVERSIZE_QPN = 0x00_ff_ff_00;
