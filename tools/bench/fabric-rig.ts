/**
 * Devices on a switched network and WRITEs between them, for benches and for profiling what a packet costs there.
 */

import { type Cq, Device, type Pd, type Qp, World } from 'rocev2';
import { defined, IpPrefix } from 'rocev2/packets';
import {
  BlankMemory,
  HOST_PREFIX_LENGTH,
  hostAddress,
  hostMac,
  SwitchedNetwork,
  type SwitchOptions,
  type Topology,
} from 'rocev2/sim';
import {
  Access,
  CONGESTION_TRAFFIC_CLASS,
  type CongestionOptions,
  type MemoryRegion,
  QpState,
  WorkCompletion,
  WrOpcode,
} from 'rocev2/transport';

export interface RigOptions {
  readonly topology: Topology;
  readonly switches?: SwitchOptions;
  /** Path MTU; default 1024. */
  readonly mtu?: number;
  /**
   * Most of what one WRITE carries, and what every host lends; default 64 KiB: what a flow carries stays in a cache.
   */
  readonly messageBytes?: number;
  readonly nicQueueFrames?: number;
  /** As `SwitchedNetworkOptions.icrcOffload`. */
  readonly icrcOffload?: boolean;
  /** As `SwitchedNetworkOptions.payload`; default 'blank' where it can be. */
  readonly payload?: 'carried' | 'blank';
  readonly congestion?: CongestionOptions;
}

/** Source and destination, by number of host. */
export interface WriteFlow {
  readonly from: number;
  readonly to: number;
}

interface Station {
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly region: MemoryRegion;
}

/** Flows of WRITEs on a switched network. */
export class FabricRig {
  readonly network: SwitchedNetwork;
  readonly world: World<SwitchedNetwork>;
  /** WRITEs that have completed. */
  completed = 0;
  readonly #options: RigOptions;
  readonly #peers = new Map<number, Set<number>>();
  readonly #stations = new Map<number, Station>();
  readonly #completion = new WorkCompletion();
  /** Shared by all hosts: the payload is not measured, and its share of a cache is not the fabric's. */
  readonly #memory: BlankMemory | Uint8Array;
  #posted = 0;

  constructor(options: RigOptions) {
    const { topology, switches, nicQueueFrames, icrcOffload } = options;
    const { payload = icrcOffload === false ? 'carried' : 'blank', messageBytes = DEFAULT_MESSAGE_BYTES } = options;
    this.#options = options;
    this.#memory = payload === 'blank' ? new BlankMemory(messageBytes) : new Uint8Array(messageBytes);
    this.network = new SwitchedNetwork({
      topology,
      seed: 1,
      payload,
      ...defined({ switches, nicQueueFrames, icrcOffload }),
    });
    this.world = new World({ seed: 1, network: this.network });
  }

  /**
   * WRITEs of `bytes` each from one host to another, each over a queue pair of its own; they begin when the world runs.
   */
  write(flows: readonly WriteFlow[], bytes: number): void {
    for (const { from, to } of flows) {
      this.#peersOf(from).add(to);
      this.#peersOf(to).add(from);
    }
    for (const flow of flows) this.#write(flow, bytes);
  }

  #write({ from, to }: WriteFlow, bytes: number): void {
    const { pd, cq, region } = this.#station(from);
    const target = this.#station(to);
    const message = this.#memory.length;
    const qp = pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: Math.ceil(bytes / message) });
    const peer = target.pd.createQp({ sendCq: target.cq, recvCq: target.cq });
    this.#connect(qp, peer, to);
    this.#connect(peer, qp, from);
    for (let left = bytes; left > 0; left -= message) {
      this.#posted += 1;
      qp.postSend({
        wrId: 0,
        opcode: WrOpcode.RdmaWrite,
        sges: [{ mr: region, offset: 0, length: Math.min(left, message) }],
        remoteAddr: target.region.iova,
        rkey: target.region.rkey,
      });
    }
  }

  /** Runs the world until every WRITE has completed. Throws when one failed. */
  run(): void {
    while (this.completed < this.#posted) {
      const goesOn = this.world.step();
      if (goesOn && this.world.steps % POLL_STEPS !== 0) continue;
      this.#poll();
      if (!goesOn && this.completed < this.#posted) throw new Error('the world fell silent');
    }
  }

  #poll(): void {
    for (const { cq } of this.#stations.values()) {
      while (cq.poll(this.#completion)) {
        if (this.#completion.status !== 0) throw new Error(`a WRITE ended with status ${this.#completion.status}`);
        this.completed += 1;
      }
    }
  }

  #peersOf(host: number): Set<number> {
    const peers = this.#peers.get(host) ?? new Set();
    this.#peers.set(host, peers);
    return peers;
  }

  #station(host: number): Station {
    const known = this.#stations.get(host);
    if (known !== undefined) return known;
    const { congestion } = this.#options;
    const device = this.world.attach(
      this.network.hosts[host]?.name ?? '',
      (own, link, random) =>
        new Device({
          host: own,
          random,
          name: link.name,
          medium: link.medium,
          mac: hostMac(host),
          addresses: [IpPrefix.parse(`${hostAddress(host)}/${HOST_PREFIX_LENGTH}`)],
          mtu: link.mtu,
          icrcOffload: link.icrcOffload,
          neighbours: [...this.#peersOf(host)].map((peer) => ({ address: hostAddress(peer), mac: hostMac(peer) })),
          path: { trafficClass: CONGESTION_TRAFFIC_CLASS },
          maxUnacked: MAX_UNACKED,
          ...defined({ congestion }),
        }),
    );
    const pd = device.allocPd();
    const access = Access.LocalWrite | Access.RemoteWrite;
    const region = pd.regMr(this.#memory, { access });
    const station = { device, pd, cq: device.createCq(CQ_ENTRIES), region };
    this.#stations.set(host, station);
    return station;
  }

  #connect(qp: Qp, peer: Qp, to: number): void {
    qp.modifyNow({ state: QpState.Init, access: Access.RemoteWrite });
    const rtr = { destQpn: peer.qpn, rqPsn: FIRST_PSN, mtu: this.#options.mtu ?? 1024, maxDestRdAtomic: 1 };
    qp.modifyNow({ state: QpState.Rtr, av: { destination: hostAddress(to) }, ...rtr, minRnrTimer: 12 });
    qp.core.setAckInterval(1);
    qp.modifyNow({ state: QpState.Rts, sqPsn: FIRST_PSN, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
  }
}

const DEFAULT_MESSAGE_BYTES = 64 * 1024;
const MAX_UNACKED = 65_536;
const CQ_ENTRIES = 4096;
const FIRST_PSN = 1000;
/** Completion queues are polled once in so many steps. */
const POLL_STEPS = 65_536;
