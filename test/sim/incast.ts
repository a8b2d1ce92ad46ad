/**
 * Many hosts that send to one at line rate, whatever happens, over a switched network: nothing here slows down unless
 * it is paused.
 *
 * Frames are IPv4/UDP of priority 3 with the sender and a number in their payload, so that the receiver knows what is
 * missing and what has overtaken what.
 */
import { ipv4HeaderChecksum } from '../../packets/checksum.ts';
import { ETHERTYPE_IPV4, writeEthernet } from '../../packets/ethernet.ts';
import type { FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import { writeIpv4 } from '../../packets/ipv4.ts';
import { ROCE_UDP_PORT, writeUdp } from '../../packets/udp.ts';
import type { Host, Machine } from '../../src/ground/machine.ts';
import { losslessHeadroomBytes, type SharedBufferCounters } from '../../src/sim/buffer/index.ts';
import {
  type FabricTap,
  SwitchedNetwork,
  type SwitchedNetworkOptions,
  type SwitchOptions,
} from '../../src/sim/switching/index.ts';
import { hostAddress, hostMac, type Topology } from '../../src/sim/topology/index.ts';
import { World } from '../../src/sim/world.ts';

export interface Incast {
  readonly topology: Topology;
  /** Hosts 1 .. fanIn send to host 0. */
  readonly fanIn: number;
  readonly framesPerSender: number;
  /** From link header on, without check sequence, at least 60. */
  readonly frameBytes: number;
  readonly switches: SwitchOptions;
  /** Sender n begins n - 1 times this later; default 0. */
  readonly staggerNs?: number;
  /**
   * With it every sender has frames of this length for its neighbour as well, lossy ones, so that pauses wait behind
   * long frames.
   */
  readonly crossFrameBytes?: number;
  readonly network?: Partial<SwitchedNetworkOptions>;
  /** Sees every frame, and the network that it is in. */
  readonly tap?: (network: SwitchedNetwork) => FabricTap;
}

export interface IncastResult {
  readonly network: SwitchedNetwork;
  /** Frames that came, and those of them that were not the next of their sender. */
  readonly received: number;
  readonly outOfOrder: number;
  /** When the last one came. */
  readonly endNs: number;
  /** Frames of the incast that a switch dropped. */
  readonly lost: number;
}

/** Bytes from IP header on that a frame of `frameBytes` is. */
const ETHERNET = 14;
const IPV4 = 20;
const PAYLOAD_AT = ETHERNET + IPV4 + 8;
/** DSCP 26 and ECT(0): priority 3. */
const LOSSLESS_CLASS = (26 << 2) | 2;
/** Priority 4, which goes first and is dropped. */
const LOSSY_CLASS = 4 << 5;
const SEED = 7;
/** What a switch sets aside for each port and lossless priority. */
const RESERVE_BYTES = 4096;

/** Runs an incast until every frame has come or was dropped, and nothing is left to happen. */
export function runIncast(incast: Incast): IncastResult {
  const { topology, fanIn, framesPerSender, frameBytes, crossFrameBytes, switches, staggerNs = 0, network } = incast;
  const mtu = Math.max(frameBytes, crossFrameBytes ?? 0) - ETHERNET;
  const switched = new SwitchedNetwork({ topology, seed: SEED, mtu, switches, ...network });
  const world = new World({ seed: SEED, network: switched });
  switched.tap = incast.tap?.(switched);
  const sink = world.attach('host0', (host) => new Sink(host));
  for (let host = 1; host <= fanIn; host++) {
    const frame = frameOf(host, 0, frameBytes, LOSSLESS_CLASS);
    const neighbour = 1 + (host % fanIn);
    const cross = crossFrameBytes === undefined ? undefined : frameOf(host, neighbour, crossFrameBytes, LOSSY_CLASS);
    const startNs = staggerNs * (host - 1);
    world.attach(`host${host}`, (clock) => new Sender(clock, { startNs, frame, frames: framesPerSender, cross }));
  }
  const dropped = ({ losslessDrops, lossyDrops }: SharedBufferCounters) =>
    losslessDrops + (crossFrameBytes === undefined ? lossyDrops : 0);
  const lost = () =>
    switched.switches.reduce((sum, { buffer }) => sum + (buffer === undefined ? 0 : dropped(buffer.counters)), 0);
  world.runUntilIdle({ maxTimeNs: 1e9 });
  return { network: switched, received: sink.received, outOfOrder: sink.outOfOrder, endNs: sink.lastNs, lost: lost() };
}

/** Headroom of ref:dcqcn#5.6 for the link of the topology that needs most. */
export function boundOf(topology: Topology, frameBytes: number, reactionNs = 0, overheadBytes = 0): number {
  const maxFrameBytes = frameBytes + overheadBytes;
  return Math.max(...topology.edges.map((edge) => losslessHeadroomBytes({ ...edge, maxFrameBytes, reactionNs })));
}

/** Memory of the switch with most ports when `poolBytes` of it are for all; one lossless priority. */
export function bufferOf(topology: Topology, headroomBytes: number, poolBytes: number): number {
  const ports = new Map<number, number>();
  for (const { a, b } of topology.edges) for (const node of [a, b]) ports.set(node, (ports.get(node) ?? 0) + 1);
  return Math.max(...ports.values()) * (headroomBytes + RESERVE_BYTES) + poolBytes;
}

function frameOf(host: number, to: number, frameBytes: number, trafficClass: number): Uint8Array {
  const frame = new Uint8Array(frameBytes);
  const view = new DataView(frame.buffer);
  writeEthernet(view, 0, hostMac(to), hostMac(host), ETHERTYPE_IPV4);
  const totalLength = frameBytes - ETHERNET;
  const [identification, flags, fragmentOffset, checksum] = [1, 2, 0, 0];
  const fixed = { version: 4, ihl: 5, trafficClass, ttl: 64, protocol: 17 };
  const variable = { totalLength, identification, flags, fragmentOffset, checksum };
  writeIpv4(view, ETHERNET, { ...fixed, ...variable, source: hostAddress(host), destination: hostAddress(to) });
  view.setUint16(ETHERNET + 10, ipv4HeaderChecksum(view, ETHERNET));
  writeUdp(view, ETHERNET + IPV4, 0xc0_00 + host, ROCE_UDP_PORT, totalLength - IPV4, 0);
  view.setUint32(PAYLOAD_AT, host);
  return frame;
}

interface SenderOptions {
  readonly startNs: number;
  readonly frame: Uint8Array;
  readonly frames: number;
  readonly cross: Uint8Array | undefined;
}

class Sender implements Machine {
  readonly #host: Host;
  readonly #options: SenderOptions;
  readonly #view: DataView;
  #sent = 0;
  #turn = 0;

  constructor(host: Host, options: SenderOptions) {
    this.#host = host;
    this.#options = options;
    this.#view = new DataView(options.frame.buffer);
  }

  receive(): void {
    // Nobody answers.
  }

  /** Frames of both kinds in turn, as long as there are some for the incast. */
  transmit(writer: FrameWriter): boolean {
    const { startNs, frame, frames, cross } = this.#options;
    if (this.#host.now() < startNs) return false;
    while (!writer.full && this.#sent < frames) {
      if (cross !== undefined && this.#turn++ % 2 === 1) {
        writer.appendRaw(cross, 0, cross.length);
        continue;
      }
      this.#view.setUint32(PAYLOAD_AT + 4, this.#sent++);
      writer.appendRaw(frame, 0, frame.length);
    }
    return this.#sent < frames;
  }

  nextDeadline(): number {
    return this.#sent === 0 ? this.#options.startNs : Infinity;
  }

  handleTimeouts(): void {
    // `transmit` looks at the clock.
  }
}

class Sink implements Machine {
  received = 0;
  outOfOrder = 0;
  lastNs = 0;
  readonly #host: Host;
  readonly #next = new Map<number, number>();

  constructor(host: Host) {
    this.#host = host;
  }

  receive({ view, starts, count }: FrameBatch): void {
    for (let index = 0; index < count; index++) {
      const at = (starts[index] ?? 0) + PAYLOAD_AT;
      const sender = view.getUint32(at);
      const number = view.getUint32(at + 4);
      if (number !== (this.#next.get(sender) ?? 0)) this.outOfOrder++;
      this.#next.set(sender, number + 1);
      this.received++;
    }
    this.lastNs = this.#host.now();
  }

  transmit(): boolean {
    return false;
  }

  nextDeadline(): number {
    return Infinity;
  }

  handleTimeouts(): void {
    // There are no deadlines.
  }
}
