/**
 * Our end of a connection with a queue pair of the device under test: the script sends packets and says what it wants
 * to see. PSNs are relative: requests of ours and answers to them count from `firstPsn`, the device's requests and our
 * answers from `dutFirstPsn`. Owns nothing of the protocol: it neither acknowledges nor repeats.
 */
import { defined, type MacAddress, Op } from 'rocev2/packets';
import {
  ack,
  buildFrame,
  describePacket,
  isResponse,
  nak,
  type Packet,
  type Route,
  readOnly,
  readRequest,
  relativeTo,
  type Sighting,
  writeOnly,
} from 'rocev2/packets/kit';
import type {
  HostCompletion,
  HostControl,
  HostHandle,
  HostQpAttributes,
  QpStateName,
  QpTypeName,
  SendRequest,
} from '../host-control/host-control.ts';
import { demandReception, demandSent, type FailedReception, type Reception } from './completion.ts';
import type { Dut } from './dut.ts';
import type { Inbox } from './inbox.ts';
import { demand, Inconclusive, Violation } from './outcome.ts';
import { describeWant, matches, type Want } from './want.ts';

/** Memory of the device that we may reach. */
export interface Region {
  /** What the host control call it; absent for a device without host control. */
  readonly mr: HostHandle | undefined;
  readonly va: bigint;
  readonly rkey: number;
  readonly lkey: number;
  readonly length: number;
}

/** A packet of the device: relative, and as it was seen. */
export interface ReceivedPacket {
  readonly packet: Packet;
  readonly sighting: Sighting;
}

export interface PeerSetup {
  readonly type: QpTypeName;
  readonly qpn: number;
  readonly dutQpn: number;
  readonly firstPsn: number;
  readonly dutFirstPsn: number;
  readonly mtu: number;
  readonly region: Region;
  /** Where receives and what is sent lie, on the device's host. */
  readonly buffers: Region | undefined;
  readonly qp: HostHandle | undefined;
  readonly pd: HostHandle | undefined;
  readonly sendCq: HostHandle | undefined;
  readonly recvCq: HostHandle | undefined;
  readonly route: Route;
}

/** What a peer needs of the case that it belongs to. */
export interface PeerHost {
  readonly dut: Dut;
  /** @throws NotApplicable where there are none */
  readonly hostControl: HostControl;
  /** @throws NotApplicable when the value, which only host control could have made, is not there */
  need<T>(value: T | undefined): T;
  completions(cq: HostHandle, count: number, withinNs?: number): Promise<HostCompletion[]>;
  memory(region: Region, offset: number, length: number): Promise<Uint8Array>;
  setMemory(region: Region, offset: number, bytes: Uint8Array): Promise<void>;
}

export class TesterPeer {
  readonly type: QpTypeName;
  /** Our queue pair number. */
  readonly qpn: number;
  /** The device's. */
  readonly dutQpn: number;
  readonly firstPsn: number;
  readonly dutFirstPsn: number;
  /** Path MTU in bytes. */
  readonly mtu: number;
  /** Memory of the device that we may reach with all rights asked for. */
  readonly region: Region;
  readonly buffers: Region | undefined;
  readonly route: Route;
  readonly dutMac: MacAddress;
  readonly inbox: Inbox;
  readonly #t: PeerHost;
  readonly #parts: PeerSetup;
  /** What was posted, by its name. */
  readonly #posted = new Map<number, SendRequest[]>();

  constructor(t: PeerHost, parts: PeerSetup) {
    this.#t = t;
    this.#parts = parts;
    this.type = parts.type;
    this.qpn = parts.qpn;
    this.dutQpn = parts.dutQpn;
    this.firstPsn = parts.firstPsn;
    this.dutFirstPsn = parts.dutFirstPsn;
    this.mtu = parts.mtu;
    this.region = parts.region;
    this.buffers = parts.buffers;
    this.route = parts.route;
    this.dutMac = parts.route.destMac;
    this.inbox = t.dut.station.open(parts.qpn);
  }

  /** What the host control call its queue pair. @throws NotApplicable without host control */
  get qp(): HostHandle {
    return this.#t.need(this.#parts.qp);
  }

  get pd(): HostHandle {
    return this.#t.need(this.#parts.pd);
  }

  get sendCq(): HostHandle {
    return this.#t.need(this.#parts.sendCq);
  }

  get recvCq(): HostHandle {
    return this.#t.need(this.#parts.recvCq);
  }

  /** Sends packets, one after the other. */
  tx(...packets: readonly Packet[]): void {
    for (const packet of packets) this.#t.dut.station.send(this.frame(packet), `tx ${describePacket(packet)}`);
  }

  /** The frame of a packet, as `tx` would send it. */
  frame(packet: Packet): Uint8Array {
    const base = packet.opcode === Op.Cnp ? 0 : isResponse(packet.opcode) ? this.dutFirstPsn : this.firstPsn;
    return buildFrame(packet, this.route, this.dutQpn, base);
  }

  /** Sends a frame as it is; `comment` says what it is. */
  txFrame(bytes: Uint8Array, comment: string): void {
    this.#t.dut.station.send(bytes, `tx ${comment}`);
  }

  /** The next packet, whatever it is; undefined when none comes within the time (default: the device's patience). */
  async take(withinNs = this.#t.dut.patienceNs): Promise<ReceivedPacket | undefined> {
    const sighting = await this.inbox.next(withinNs);
    if (sighting === undefined) return undefined;
    return { sighting, packet: relativeTo(sighting, this.firstPsn, this.dutFirstPsn) };
  }

  /** What is there already. */
  drain(): ReceivedPacket[] {
    return this.inbox
      .drain()
      .map((sighting) => ({ sighting, packet: relativeTo(sighting, this.firstPsn, this.dutFirstPsn) }));
  }

  /** The next packet has to be this. @throws Violation when another comes, or none */
  async rx(want: Want, withinNs = this.#t.dut.patienceNs): Promise<ReceivedPacket> {
    const received = await this.take(withinNs);
    demand(received !== undefined, () => `${describeWant(want)} was expected, and nothing came`);
    const { packet } = received;
    demand(matches(packet, want), () => `${describeWant(want)} was expected, and ${describePacket(packet)} came`);
    return received;
  }

  /** Each of these has to come, in this order and with nothing between. */
  async rxAll(wants: readonly Want[]): Promise<ReceivedPacket[]> {
    const all: ReceivedPacket[] = [];
    for (const want of wants) all.push(await this.rx(want));
    return all;
  }

  /**
   * An ACK of `psn` has to come. ACKs of earlier PSNs may come before it: a device may acknowledge more often than it
   * is asked, or stand for several requests with one. Returns the one of `psn`.
   */
  async expectAck(psn: number, msn?: number): Promise<ReceivedPacket> {
    const want = { opcode: Op.Acknowledge, psn, syndrome: 0x1f, ...defined({ msn }) };
    for (;;) {
      const received = await this.take();
      demand(received !== undefined, () => `${describeWant(want)} was expected, and nothing came`);
      const { packet } = received;
      if (matches(packet, want)) return received;
      const earlier = packet.opcode === Op.Acknowledge && (packet.syndrome ?? 0xff) < 0x20 && packet.psn < psn;
      demand(earlier, () => `${describeWant(want)} was expected, and ${describePacket(packet)} came`);
    }
  }

  /** A NAK (0x60 to 0x63, or an RNR NAK) of `psn` has to come; ACKs of earlier PSNs may come before it. */
  async expectNak(syndrome: number | readonly number[], psn: number): Promise<ReceivedPacket> {
    const syndromes = typeof syndrome === 'number' ? [syndrome] : syndrome;
    const wants = syndromes.map((one) => ({ opcode: Op.Acknowledge, psn, syndrome: one }));
    for (;;) {
      const received = await this.take();
      demand(received !== undefined, () => `${describeWant(wants)} was expected, and nothing came`);
      const { packet } = received;
      if (matches(packet, wants)) return received;
      const earlier = packet.opcode === Op.Acknowledge && (packet.syndrome ?? 0xff) < 0x20 && packet.psn < psn;
      demand(earlier, () => `${describeWant(wants)} was expected, and ${describePacket(packet)} came`);
    }
  }

  /** Nothing may come for this long (default: the device's `quietNs`). Prefer `expectNextPsn`, which proves it. */
  async expectSilence(durationNs = this.#t.dut.quietNs): Promise<void> {
    const received = await this.take(durationNs);
    demand(
      received === undefined,
      () => `silence was expected, and ${describePacket(received?.packet ?? NO_PACKET)} came`,
    );
  }

  /**
   * The sentinel: what was sent before must have drawn no answer and changed nothing, so a READ of no bytes at `psn` is
   * the next new request, and `msn` counts it. Takes the PSN `psn`. It is a READ since a WRITE would be acknowledged
   * just so when a stimulus had taken its PSN; a READ that takes the place of another request is dropped. @throws
   * Violation for any other packet, or when the queue pair is silent
   */
  async expectNextPsn(psn: number, msn: number): Promise<void> {
    const { va, rkey } = this.region;
    this.tx(readRequest({ psn, reth: { va, rkey, length: 0 } }));
    const received = await this.take();
    demand(
      received !== undefined,
      `no answer to a correct READ at psn+${psn}: the queue pair is dead, or has taken something else for that PSN`,
    );
    const { packet } = received;
    const want = readOnly({ psn, msn, payload: NO_BYTES });
    demand(
      matches(packet, want),
      () =>
        `silence, and then ${describeWant(want)} for the sentinel, was expected, and ${describePacket(packet)} came`,
    );
  }

  /** After a fatal NAK: neither the next expected PSN nor a duplicate draws an answer. */
  async expectDead(psn: number): Promise<void> {
    const { va, rkey } = this.region;
    this.tx(writeOnly({ psn, ackReq: true, reth: { va, rkey, length: 0 } }));
    await this.expectSilence();
  }

  /** A fatal NAK, exactly once, and a queue pair in ERROR after it. `psn` is that of the request it refuses. */
  async expectFatalNak(syndrome: number | readonly number[], psn: number): Promise<ReceivedPacket> {
    const received = await this.expectNak(syndrome, psn);
    await this.expectDead(psn);
    return received;
  }

  /**
   * For a device whose answer proves nothing was done: bytes of the region, by the host control or by a READ through a
   * queue pair of its own.
   */
  memory(offset: number, length: number): Promise<Uint8Array> {
    return this.#t.memory(this.region, offset, length);
  }

  /** Changes bytes of the region, by the host control or by a WRITE through a queue pair of its own. */
  setMemory(offset: number, bytes: Uint8Array): Promise<void> {
    return this.#t.setMemory(this.region, offset, bytes);
  }

  /** Posts a send work request on the device. */
  async post(request: SendRequest): Promise<void> {
    const { wrId } = request;
    this.#posted.set(wrId, [...(this.#posted.get(wrId) ?? []), request]);
    await this.#t.hostControl.call('qp.send', { qp: this.qp, ...request });
  }

  /** Posts a receive of `length` bytes at `offset` of `buffers`. */
  async postReceive(wrId: number, offset = 0, length = 1024): Promise<void> {
    const mr = this.#t.need(this.buffers?.mr);
    await this.#t.hostControl.call('qp.recv', { qp: this.qp, wrId, pieces: [{ mr, offset, length }] });
  }

  /**
   * The next `count` completions of sends, waited for; each is compared whole with what was posted, but for its order
   * and whether it succeeded. @throws Violation when fewer come, or one says something else
   */
  async sendCompletions(count: number, withinNs?: number): Promise<HostCompletion[]> {
    const found = await this.#t.completions(this.sendCq, count, withinNs);
    for (const completion of found) this.isSent(completion);
    return found;
  }

  /** A completion of a send says what was posted, whole. @throws Violation */
  isSent(completion: HostCompletion): void {
    demandSent(completion, this.#posted.get(completion.wrId), this.dutQpn);
  }

  /** These receives complete next and in this order, compared whole. @throws Violation when fewer or others do */
  async receives(...wanted: readonly (Reception | FailedReception)[]): Promise<void> {
    const found = await this.recvCompletions(wanted.length);
    for (const [i, one] of wanted.entries()) this.isReceived(found[i], one);
  }

  /** The completion of a receive is this, whole. @throws Violation */
  isReceived(found: HostCompletion | undefined, wanted: Reception | FailedReception): void {
    demandReception(found, wanted, this.dutQpn);
  }

  /** The next `count` completions of receives, waited for. Prefer `receives`, which compares them. */
  recvCompletions(count: number, withinNs?: number): Promise<HostCompletion[]> {
    return this.#t.completions(this.recvCq, count, withinNs);
  }

  modify(attributes: HostQpAttributes): Promise<unknown> {
    return this.#t.hostControl.call('qp.modify', { qp: this.qp, ...attributes });
  }

  /** The state of the device's queue pair. */
  async state(): Promise<QpStateName> {
    return (await this.#t.hostControl.call('qp.query', { qp: this.qp })).state;
  }

  /** The state has to become this, within the device's patience. */
  async expectState(state: QpStateName): Promise<void> {
    const { dut } = this.#t;
    const deadline = dut.station.now() + dut.patienceNs;
    for (let now = await this.state(); now !== state; now = await this.state()) {
      if (dut.station.now() > deadline) throw new Violation(`the queue pair was to be in ${state}, and is in ${now}`);
      await dut.station.sleep(dut.pollNs);
    }
  }

  /** For a probe of the tester's own that must work: what fails in it is no verdict. */
  async orInconclusive<T>(what: string, probe: () => Promise<T>): Promise<T> {
    try {
      return await probe();
    } catch (error) {
      if (error instanceof Violation) throw new Inconclusive(`${what}: ${error.message}`);
      throw error;
    }
  }

  /** Answers of ours to the device's requests read better so. */
  ack(psn: number, msn: number): void {
    this.tx(ack({ psn, msn }));
  }

  nak(syndrome: number, psn: number, msn: number): void {
    this.tx(nak(syndrome, { psn, msn }));
  }
}

const NO_BYTES = new Uint8Array(0);
const NO_PACKET: Packet = { opcode: 0, psn: 0 };
