/**
 * The tester's place on the wire of the device under test: a host that answers for its addresses, sends the frames it
 * is told to, byte for byte, and sorts what the device sends by destination queue pair. Owns neighbours, the record of
 * all frames, and pending waits.
 *
 * A `Machine`, so it lives on any link under `Driver` and in the simulated world: waiting is a deadline, never a timer
 * of its own. It has no transport: nothing is acknowledged, repeated or dropped unless a script says so.
 */

import type { Host, Machine } from 'rocev2';
import { isForMac, Neighbours } from 'rocev2/host';
import type { CaptureSink } from 'rocev2/node';
import {
  defined,
  Frame,
  type FrameBatch,
  FrameStatus,
  type FrameWriter,
  type IpAddress,
  type IpPrefix,
  type MacAddress,
  Medium,
  parseFrame,
  RoceError,
} from 'rocev2/packets';
import { type Sighting, sightingOf } from 'rocev2/packets/kit';
import { ETHERNET_BYTES } from 'rocev2/packets/network';
import { Inbox } from './inbox.ts';

export interface StationOptions {
  readonly host: Host;
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  /** Router for devices on no network of ours. */
  readonly gateway?: IpAddress;
}

export class TesterStation implements Machine {
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  /** Sees every frame that is sent and received, comments included; may be changed at any time. */
  capture: CaptureSink | undefined;
  /** Receives every RoCE packet of the device, of any queue pair: the passive checks look here. */
  watch: ((sighting: Sighting) => void) | undefined;
  /**
   * Receives every other frame with an IP header at `ip`: a RoCE packet that is wrong enough looks like one of these.
   */
  watchOther: ((bytes: Uint8Array, ip: number, timeNs: number) => void) | undefined;
  /** RoCE packets for queue pairs that the tester does not have. */
  readonly strays: Sighting[] = [];
  /** Frames sent and received since the beginning. */
  sent = 0;
  received = 0;
  /** Packets of the device that a script has looked at, since the beginning. */
  taken = 0;
  readonly #host: Host;
  readonly #neighbours: Neighbours | undefined;
  readonly #inboxes = new Map<number, Inbox>();
  readonly #outbox: { readonly bytes: Uint8Array; readonly comment: string | undefined }[] = [];
  readonly #resolutions = new Map<string, { resolve(): void; reject(error: RoceError): void }[]>();
  readonly #sleepers = new Set<{ readonly at: number; wake(): void }>();
  readonly #frame = new Frame();
  #lastQpn = FIRST_QPN;

  constructor(options: StationOptions) {
    const { host, medium, mac, addresses, gateway } = options;
    this.#host = host;
    this.medium = medium;
    this.mac = mac;
    this.addresses = addresses;
    if (medium === Medium.Ethernet) this.#neighbours = new Neighbours({ mac, addresses, ...defined({ gateway }) });
  }

  now(): number {
    return this.#host.now();
  }

  /** Sends a frame of the link, whole; `comment` goes into the capture. */
  send(bytes: Uint8Array, comment?: string): void {
    this.#outbox.push({ bytes, comment });
    this.#host.wake();
  }

  /** A queue pair number that was not in use for a long time. */
  nextQpn(): number {
    this.#lastQpn = this.#lastQpn >= LAST_QPN ? FIRST_QPN : this.#lastQpn + 1;
    return this.#lastQpn;
  }

  /** Packets for this queue pair number go to an inbox of its own from now on. @throws RoceError ERR_ROCE_IN_USE */
  open(qpn: number): Inbox {
    if (this.#inboxes.has(qpn))
      throw new RoceError('ERR_ROCE_IN_USE', `queue pair 0x${qpn.toString(16)} of the tester exists`);
    const inbox = new Inbox(this);
    this.#inboxes.set(qpn, inbox);
    return inbox;
  }

  close(qpn: number): void {
    this.#inboxes.get(qpn)?.close();
    this.#inboxes.delete(qpn);
  }

  /**
   * MAC address of the next hop towards `address`; zeros where frames have none. @throws RoceError ERR_ROCE_ADDRESS
   * when it does not answer
   */
  async macTowards(address: IpAddress): Promise<MacAddress> {
    const neighbours = this.#neighbours;
    if (neighbours === undefined) return NO_MAC;
    if (neighbours.lookup(address) === undefined) {
      const key = address.toString();
      await new Promise<void>((resolve, reject) => {
        const waiters = this.#resolutions.get(key) ?? [];
        waiters.push({ resolve, reject });
        this.#resolutions.set(key, waiters);
        neighbours.resolve(this.now(), address);
        this.#settle();
        this.#host.wake();
      });
    }
    return neighbours.lookup(address) ?? NO_MAC;
  }

  /** Forgets MAC addresses: after a device was exchanged for another. */
  forget(address: IpAddress): void {
    this.#neighbours?.forget(address);
  }

  /** Lets time pass. */
  sleep(durationNs: number): Promise<void> {
    return new Promise((wake) => {
      this.#sleepers.add({ at: this.now() + durationNs, wake });
      this.#host.wake();
    });
  }

  /** For inboxes: a deadline is new. */
  wake(): void {
    this.#host.wake();
  }

  receive(batch: FrameBatch): void {
    const now = this.now();
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const end = start + (batch.lengths[i] ?? 0);
      this.#take(now, batch, start, end);
    }
    this.#settle();
  }

  transmit(writer: FrameWriter): boolean {
    const now = this.now();
    const before = writer.count;
    const owes = this.#neighbours?.poll(now, writer) ?? false;
    for (let i = before; i < writer.count; i++) this.#show(now, writer, i, undefined);
    while (this.#outbox.length > 0) {
      const next = this.#outbox[0];
      if (next === undefined || writer.full) break;
      writer.appendRaw(next.bytes, 0, next.bytes.length);
      this.#outbox.shift();
      this.#show(now, writer, writer.count - 1, next.comment);
      this.sent++;
    }
    return owes || this.#outbox.length > 0;
  }

  nextDeadline(): number {
    let at = this.#neighbours?.nextDeadline() ?? Infinity;
    for (const sleeper of this.#sleepers) at = Math.min(at, sleeper.at);
    for (const inbox of this.#inboxes.values()) at = Math.min(at, inbox.deadline);
    return at;
  }

  handleTimeouts(): void {
    const now = this.now();
    this.#neighbours?.handleTimeouts(now);
    this.#settle();
    for (const sleeper of this.#sleepers) {
      if (sleeper.at > now) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    for (const inbox of this.#inboxes.values()) inbox.handleTimeout(now);
  }

  #take(now: number, batch: FrameBatch, start: number, end: number): void {
    const { bytes, view } = batch;
    this.received++;
    this.capture?.frame(now, 'in', bytes, start, end);
    if (this.medium === Medium.Ethernet && !isForMac(view, start, end, this.mac)) return;
    const frame = this.#frame;
    const status = parseFrame(bytes, view, start, end, this.medium, frame);
    if (frame.bthOffset < 0)
      this.watchOther?.(bytes.slice(start, end), this.medium === Medium.Ethernet ? ETHERNET_BYTES : 0, now);
    if (status === FrameStatus.NotIp || status === FrameStatus.NotUdp) {
      this.#neighbours?.handleFrame(now, frame, status);
      return;
    }
    if (frame.bthOffset < 0) return;
    const sighting = sightingOf(frame, status, now);
    this.watch?.(sighting);
    const inbox = this.#inboxes.get(frame.destQpn);
    if (inbox !== undefined) inbox.push(sighting);
    else if (this.strays.length < MAX_STRAYS) this.strays.push(sighting);
  }

  #show(now: number, writer: FrameWriter, i: number, comment: string | undefined): void {
    const start = writer.starts[i] ?? 0;
    this.capture?.frame(now, 'out', writer.bytes, start, start + (writer.lengths[i] ?? 0), comment);
  }

  #settle(): void {
    const neighbours = this.#neighbours;
    if (neighbours === undefined) return;
    for (let end = neighbours.pollResolved(); end !== undefined; end = neighbours.pollResolved()) {
      const key = end.address.toString();
      const waiters = this.#resolutions.get(key) ?? [];
      this.#resolutions.delete(key);
      const error = new RoceError('ERR_ROCE_ADDRESS', `${key} does not answer on this link`);
      for (const waiter of waiters) end.mac === undefined ? waiter.reject(error) : waiter.resolve();
    }
  }
}

/** Far from those of devices, which begin at 16 or so; within 24 bits, and not the group's. */
const FIRST_QPN = 0x1a_00_00;
const LAST_QPN = 0x7f_ff_ff;
const NO_MAC: MacAddress = new Uint8Array(6);
/** A device that answers for queue pairs it does not have does so without end. */
const MAX_STRAYS = 10_000;
