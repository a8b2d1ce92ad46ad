/** Frames, machines and small networks for the tests of switching. */
import type { FrameBatch, FrameWriter } from '../../../packets/frame-writer.ts';
import type { Host, Machine } from '../../../src/ground/machine.ts';
import { SwitchedNetwork, type SwitchedNetworkOptions } from '../../../src/sim/switching/index.ts';
import { hostMac, type Topology } from '../../../src/sim/topology/index.ts';
import { World } from '../../../src/sim/world.ts';

export interface FrameSpec {
  readonly to: number;
  /** Whole frame; default 1000. */
  readonly bytes?: number;
  /** Default 26: priority 3. */
  readonly dscp?: number;
  /** Default 2, ECT(0). */
  readonly ecn?: number;
  readonly sourcePort?: number;
  /** 802.1Q tag control information. */
  readonly vlan?: number;
}

/** An Ethernet frame with IPv4 and UDP headers whose payload begins with `tag`. */
export function packet(from: number, spec: FrameSpec, tag: number): Uint8Array {
  const { to, bytes: length = 1000, dscp = 26, ecn = 2, sourcePort = 0xc0_00, vlan } = spec;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  bytes.set(hostMac(to), 0);
  bytes.set(hostMac(from), 6);
  const ip = vlan === undefined ? 14 : 18;
  if (vlan !== undefined) {
    view.setUint16(12, 0x8100);
    view.setUint16(14, vlan);
  }
  view.setUint16(ip - 2, 0x0800);
  view.setUint8(ip, 0x45);
  view.setUint8(ip + 1, (dscp << 2) | ecn);
  view.setUint16(ip + 2, length - ip);
  view.setUint8(ip + 9, 17);
  view.setUint32(ip + 12, 0x0a_00_00_01 + from);
  view.setUint32(ip + 16, 0x0a_00_00_01 + to);
  view.setUint16(ip + 20, sourcePort);
  view.setUint16(ip + 22, 4791);
  view.setUint32(ip + 28, tag);
  return bytes;
}

export interface Arrival {
  readonly at: number;
  readonly from: number;
  readonly tag: number;
  readonly bytes: number;
  /** Congestion Experienced. */
  readonly marked: boolean;
}

/** Sends what it is given as fast as its NIC takes it, and notes what comes. */
export class Station implements Machine {
  readonly received: Arrival[] = [];
  readonly number: number;
  /** Copies of what came, where `keep` was set. */
  readonly frames: Uint8Array[] = [];
  keep = false;
  sent = 0;
  readonly #host: Host;
  readonly #outbox: { readonly spec: FrameSpec; left: number }[] = [];
  readonly #later: { readonly at: number; readonly spec: FrameSpec; readonly count: number }[] = [];

  constructor(host: Host, number: number) {
    this.#host = host;
    this.number = number;
  }

  /** Sends `count` such frames, at `at` or now. */
  send(spec: FrameSpec, count = 1, at = 0): void {
    if (at > this.#host.now()) {
      this.#later.push({ at, spec, count });
      this.#later.sort((a, b) => a.at - b.at);
    } else this.#outbox.push({ spec, left: count });
    this.#host.wake();
  }

  receive(batch: FrameBatch): void {
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const length = batch.lengths[i] ?? 0;
      const { view } = batch;
      const ip = view.getUint16(start + 12) === 0x8100 ? start + 18 : start + 14;
      this.received.push({
        at: this.#host.now(),
        from: view.getUint32(ip + 12) - 0x0a_00_00_01,
        tag: view.getUint32(ip + 28),
        bytes: length,
        marked: (view.getUint8(ip + 1) & 3) === 3,
      });
      if (this.keep) this.frames.push(batch.bytes.slice(start, start + length));
    }
  }

  transmit(writer: FrameWriter): boolean {
    while (!writer.full) {
      const next = this.#outbox[0];
      if (next === undefined) return false;
      const bytes = packet(this.number, next.spec, this.sent++);
      writer.appendRaw(bytes, 0, bytes.length);
      if (--next.left <= 0) this.#outbox.shift();
    }
    return this.#outbox.length > 0;
  }

  nextDeadline(): number {
    return this.#later[0]?.at ?? Infinity;
  }

  handleTimeouts(): void {
    while ((this.#later[0]?.at ?? Infinity) <= this.#host.now()) {
      const due = this.#later.shift();
      if (due !== undefined) this.#outbox.push({ spec: due.spec, left: due.count });
    }
  }
}

export interface Rig {
  readonly network: SwitchedNetwork;
  readonly world: World<SwitchedNetwork>;
  /** By number of host. */
  readonly stations: readonly Station[];
  station(host: number): Station;
}

/** A network with a station at every host. */
export function rig(topology: Topology, options: Partial<SwitchedNetworkOptions> = {}): Rig {
  const network = new SwitchedNetwork({ topology, seed: 1, ...options });
  const world = new World({ seed: 1, network });
  const stations = network.hosts.map(({ name }, number) => world.attach(name, (host) => new Station(host, number)));
  return {
    network,
    world,
    stations,
    station: (host) => {
      const found = stations[host];
      if (found === undefined) throw new Error(`there is no host ${host}`);
      return found;
    },
  };
}

/** 8 Gb/s: a byte a nanosecond. */
export const BYTE_A_NS = 8e9;
