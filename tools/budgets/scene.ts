/**
 * The simulated world of one measurement: our device, an honest peer and an attacker. Owns the attacker, which answers
 * for the address that it forges, and the count of what our device sends; seeded, in virtual time.
 */
import {
  Access,
  attachDevice,
  type Cq,
  type Device,
  type Host,
  type Machine,
  type MemoryRegion,
  type Qp,
  QpState,
  World,
} from 'rocev2';
import { Neighbours } from 'rocev2/host';
import { Frame, type FrameBatch, type FrameWriter, IpAddress, IpPrefix, Medium, parseFrame } from 'rocev2/packets';
import { EVIL_MAC, LIAR, type Victim } from './frames.ts';

export const SECOND = 1e9;
export const PORT = 7471;
export const OURS = IpAddress.parse('10.0.0.1');
export const OURS6 = IpAddress.parse('fd00::1');
export const PEER = IpAddress.parse('10.0.0.2');
export const FIRST_PSN = 1000;
const MTU = 4200;

/** Makes the next frame of a flood. */
export type MakeFrame = (index: number) => Uint8Array;

class Attacker implements Machine {
  frames = 0;
  bytes = 0;
  readonly #host: Host;
  readonly #neighbours = new Neighbours({ mac: EVIL_MAC, addresses: [IpPrefix.parse(`${LIAR}/16`)] });
  readonly #frame = new Frame();
  #make: MakeFrame | undefined;
  #left = 0;
  #every = 0;
  #at = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  flood(count: number, perSecond: number, make: MakeFrame): void {
    this.#make = make;
    this.#left = count;
    this.#every = Math.round(SECOND / perSecond);
    this.#at = this.#host.now();
    this.#host.wake();
  }

  receive(batch: FrameBatch): void {
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const end = start + (batch.lengths[i] ?? 0);
      const status = parseFrame(batch.bytes, batch.view, start, end, Medium.Ethernet, this.#frame);
      this.#neighbours.handleFrame(this.#host.now(), this.#frame, status);
      this.#host.wake();
    }
  }

  transmit(writer: FrameWriter): boolean {
    const now = this.#host.now();
    this.#neighbours.poll(now, writer);
    while (this.#make !== undefined && this.#left > 0 && this.#at <= now) {
      if (writer.full) return true;
      const frame = this.#make(this.frames);
      writer.appendRaw(frame, 0, frame.length);
      this.frames += 1;
      this.bytes += frame.length;
      this.#left -= 1;
      this.#at += this.#every;
    }
    return false;
  }

  nextDeadline(): number {
    return this.#left > 0 ? this.#at : Infinity;
  }

  handleTimeouts(): void {
    this.#host.wake();
  }
}

/** What one end of a connection needs. */
export interface Side {
  readonly cq: Cq;
  readonly qp: Qp;
  readonly mr: MemoryRegion;
}

/** Ours, an honest peer, and the attacker. */
export class Scene {
  readonly world = new World({ seed: 1 });
  readonly ours: Device;
  readonly peer: Device;
  readonly attacker: Attacker;
  readonly victim: Victim;
  /** What ours has sent since `count`; questions about addresses, which go to nobody in particular, aside. */
  readonly sent = { frames: 0, bytes: 0 };
  /** Addresses that ours has asked for. */
  readonly asked = new Set<string>();

  /** @param rateBps of the links of ours and its peer; with one, DCQCN paces what ours sends */
  constructor(rateBps?: number) {
    const reaction = { kind: 'dcqcn', profile: 'paper' } as const;
    const paced =
      rateBps === undefined
        ? {}
        : { faults: { rateBps }, congestion: { reaction, notification: false as const, lineRateBps: rateBps } };
    const device = (n: number): Device =>
      attachDevice(this.world, `device ${n}`, {
        addresses: [`10.0.0.${n}/16`, `fd00::${n}/64`],
        mtu: MTU,
        ...paced,
      });
    this.ours = device(1);
    this.peer = device(2);
    this.attacker = this.world.attach('attacker', (host) => new Attacker(host), { mtu: MTU });
    this.victim = { mac: this.ours.mac, address: OURS };
    this.world.network.tap = {
      frame: (_now, port, direction, bytes, start, end) => {
        if (direction !== 'out' || port.name !== 'device 1') return;
        if (this.#isQuestion(bytes, start)) return;
        this.sent.frames += 1;
        this.sent.bytes += end - start;
      },
    };
  }

  /** Counts from now on. */
  count(): void {
    this.sent.frames = 0;
    this.sent.bytes = 0;
    this.asked.clear();
  }

  flood(count: number, perSecond: number, make: MakeFrame): void {
    this.attacker.flood(count, perSecond, make);
  }

  /** A queue pair with a completion queue and a region of its own. */
  side(device: Device, bytes = 64): Side {
    const pd = device.allocPd();
    const cq = device.createCq(256);
    const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead;
    return { cq, qp: pd.createQp({ sendCq: cq, recvCq: cq }), mr: pd.regMr(bytes, { access }) };
  }

  /** Takes each request after so long: accepts those of the peer, or all, and refuses the others. */
  async serve(port: number, eachNs = 0, all = false): Promise<void> {
    for await (const request of this.ours.cm.listen(port)) {
      if (eachNs > 0) await this.world.sleep(eachNs);
      if (all || request.remoteAddress.equals(PEER)) request.accept({ qp: this.side(this.ours).qp }).catch(() => {});
      else request.reject();
    }
  }

  /** Connects two queue pairs without a connection manager, with known PSNs. */
  async join(qp: Qp, peer: Qp): Promise<void> {
    const up = async (one: Qp, other: Qp, destination: IpAddress): Promise<void> => {
      const access = Access.RemoteWrite | Access.RemoteRead;
      await one.modify({ state: QpState.Init, access });
      const rtr = { destQpn: other.qpn, rqPsn: FIRST_PSN, mtu: 4096, maxDestRdAtomic: 16, minRnrTimer: 1 };
      await one.modify({ state: QpState.Rtr, av: { destination }, ...rtr });
      const rts = { sqPsn: FIRST_PSN, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 16 };
      await one.modify({ state: QpState.Rts, ...rts });
    };
    await this.world.run(Promise.all([up(qp, peer, PEER), up(peer, qp, OURS)]));
  }

  /** Virtual time passes; applications run meanwhile. */
  async run(ns: number): Promise<void> {
    await this.world.run(this.world.sleep(ns));
  }

  /** Milliseconds of virtual time until `work` is done. */
  async msUntil(work: Promise<unknown>): Promise<number> {
    const before = this.world.now;
    await this.world.run(work);
    return (this.world.now - before) / 1e6;
  }

  /** ARP requests and neighbour solicitations; notes for whom. */
  #isQuestion(bytes: Uint8Array, start: number): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset + start);
    const etherType = view.getUint16(12);
    if (etherType === 0x0806 && view.getUint16(20) === 1) this.asked.add(`${IpAddress.read(view, 38, 4)}`);
    else if (etherType === 0x86dd && view.getUint8(20) === 58 && view.getUint8(54) === 135)
      this.asked.add(`${IpAddress.read(view, 62, 6)}`);
    else return false;
    return true;
  }
}
