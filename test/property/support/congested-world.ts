/**
 * Devices on a simulated network that marks packets, with connections of every service between them: posts a scenario's
 * work, lets it run, and keeps what an onlooker on the wire sees: departures of data by flow, notifications by flow,
 * and a hash over all of it.
 */

import { crc32 } from '../../../packets/crc32.ts';
import { defined } from '../../../packets/defined.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import { Op } from '../../../packets/opcode.ts';
import {
  Access,
  attachDevice,
  type Cq,
  type Device,
  IpAddress,
  type IpPrefix,
  type MemoryRegion,
  type Qp,
  QpState,
  QpType,
  type RdmaAh,
  WorkCompletion,
  World,
  WrOpcode,
} from '../../../src/index.ts';
import type { FaultSpec } from '../../../src/sim/index.ts';
import type { CongestionOptions } from '../../../transport/congestion/index.ts';

export const KINDS = ['send', 'write', 'read', 'add'] as const;

export interface Work {
  readonly kind: (typeof KINDS)[number];
  readonly length: number;
  /** Which end of the connection asks. */
  readonly by: 0 | 1;
  /** How long after the start it is posted. */
  readonly atNs: number;
}

export interface Connection {
  readonly service: 'rc' | 'uc' | 'ud';
  readonly work: readonly Work[];
}

export interface Scenario {
  readonly seed: number;
  readonly version: 4 | 6;
  readonly vlan: boolean;
  readonly mtu: 256 | 1024 | 4096;
  readonly devices: number;
  readonly connections: readonly Connection[];
  readonly faults: FaultSpec;
  readonly timeout: number;
  /** Frames a device may write at a time. */
  readonly batchFrames: number;
  readonly congestion: CongestionOptions | undefined;
}

/** A frame of data on the wire: when, how long, and what its queue pair's controller allowed right then. */
export interface Departure {
  readonly at: number;
  readonly bytes: number;
  /** Infinity at the line rate: no limit. */
  readonly rateBps: number;
}

export const MAX_BYTES = 6000;
/** Everything is posted by then. */
export const POSTING_NS = 400_000;
const QKEY = 0x1111_1111;
/** Work of one connection at most, of both ends together. */
export const MAX_WORK = 12;
const MAX_TIME_NS = 60e9;

/**
 * One end of a connection. Its memory has a third for what it sends, one for receives, and one for what READs, atomics
 * and the peer bring.
 */
class End {
  readonly qp: Qp;
  readonly mr: MemoryRegion;
  readonly grh: MemoryRegion;
  readonly sendCq: Cq;
  readonly recvCq: Cq;
  ah: RdmaAh | undefined;
  /** Completions, in order. */
  readonly sends: string[] = [];
  readonly recvs: string[] = [];
  readonly device: Device;

  constructor(device: Device, service: Connection['service']) {
    this.device = device;
    const pd = device.allocPd();
    this.sendCq = device.createCq(256);
    this.recvCq = device.createCq(256);
    const type = { rc: QpType.Rc, uc: QpType.Uc, ud: QpType.Ud }[service];
    this.qp = pd.createQp({ sendCq: this.sendCq, recvCq: this.recvCq, type });
    const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
    this.mr = pd.regMr(3 * THIRD_BYTES, { access });
    this.grh = pd.regMr(MAX_WORK * 40, { access });
  }

  /** Bytes that nobody else sends. */
  fill(seed: number): void {
    for (let i = 0; i < THIRD_BYTES; i++) this.mr.bytes[i] = (i * 31 + (i >> 8) * 7 + seed * 17) & 0xff;
  }

  postReceives(): void {
    const ud = this.qp.type === QpType.Ud;
    for (let k = 0; k < MAX_WORK; k++) {
      const sge = { mr: this.mr, offset: THIRD_BYTES + k * SLOT_BYTES, length: SLOT_BYTES };
      this.qp.postRecv({ wrId: k, sges: ud ? [{ mr: this.grh, offset: 40 * k, length: 40 }, sge] : [sge] });
    }
  }

  poll(wc: WorkCompletion): void {
    while (this.sendCq.poll(wc)) this.sends.push(`${wc.wrId} ${wc.status} ${wc.byteLen}`);
    while (this.recvCq.poll(wc)) {
      const at = THIRD_BYTES + wc.wrId * SLOT_BYTES;
      const length = wc.byteLen - (wc.grh ? 40 : 0);
      this.recvs.push(`${wc.status} ${length} ${crc32(this.mr.bytes, at, at + length)}`);
    }
  }
}

/** `MAX_BYTES` and a word that is counted in, in the last one. */
const SLOT_BYTES = MAX_BYTES + 16;
const THIRD_BYTES = MAX_WORK * SLOT_BYTES;

function addressOf({ device }: End): IpAddress {
  return (device.addresses[0] as IpPrefix).address;
}

export class CongestedWorld {
  readonly world: World;
  readonly devices: readonly Device[];
  readonly ends: (readonly [End, End])[] = [];
  readonly departures = new Map<Qp, Departure[]>();
  /** When CNPs left, by where they came from and what they name. */
  readonly notifications = new Map<string, number[]>();
  trace = 0;
  readonly #scenario: Scenario;
  /** Whose data goes from a port to a queue pair. */
  readonly #senders = new Map<string, Qp>();
  readonly #frame = new Frame();
  readonly #wc = new WorkCompletion();

  constructor(scenario: Scenario) {
    const { seed, faults, devices, mtu, batchFrames } = scenario;
    this.#scenario = scenario;
    this.world = new World({ seed, medium: Medium.Ethernet, faults, batchFrames });
    this.devices = Array.from({ length: devices }, (_, i) => this.#device(i, mtu));
    this.world.network.tap = {
      frame: (now, port, direction, bytes, start, end) => {
        if (direction === 'out') this.#saw(now, port.name, bytes, start, end);
      },
    };
    scenario.connections.forEach((connection, index) => {
      this.#connect(connection, index);
    });
  }

  /**
   * Until all work has completed and nothing moves any more. Throws when that takes longer than a minute of its own
   * time.
   */
  async run(): Promise<this> {
    await this.#makeAddressHandles();
    const posts = this.#scenario.connections.flatMap(({ work }, c) => work.map((each, k) => ({ c, k, each })));
    posts.sort((a, b) => a.each.atNs - b.each.atNs || a.c - b.c || a.k - b.k);
    const start = this.world.now;
    for (const { c, k, each } of posts) {
      this.world.runFor(start + each.atNs - this.world.now);
      this.#post(c, k, each);
    }
    this.world.runUntilIdle({ maxTimeNs: MAX_TIME_NS });
    for (const ends of this.ends) for (const end of ends) end.poll(this.#wc);
    return this;
  }

  /** Completions of a connection, by end. */
  log(connection: number): { sends: readonly string[]; recvs: readonly string[] }[] {
    return (this.ends[connection] ?? []).map(({ sends, recvs }) => ({ sends, recvs }));
  }

  /** Whether the memory of both ends of a connection is as in another world. */
  sameMemory(connection: number, other: CongestedWorld): boolean {
    const [mine, theirs] = [this.ends[connection] ?? [], other.ends[connection] ?? []];
    return mine.every(({ mr }, i) => Buffer.from(mr.bytes).equals(theirs[i]?.mr.bytes ?? new Uint8Array(0)));
  }

  #device(index: number, mtu: number): Device {
    const { version, vlan, congestion, devices } = this.#scenario;
    const neighbours = Array.from({ length: devices }, (_, i) => ({
      address: this.#address(i),
      mac: Uint8Array.of(2, 0, 0, 0, 0, i + 1),
    })).filter((_, i) => i !== index);
    return attachDevice(this.world, `host${index}`, {
      addresses: [`${this.#address(index)}/${version === 4 ? 24 : 64}`],
      mac: `02:00:00:00:00:0${index + 1}`,
      mtu: mtu + 200,
      neighbours,
      ...(vlan ? { vlan: { id: 5, priority: 3 } } : {}),
      ...defined({ congestion }),
    });
  }

  async #makeAddressHandles(): Promise<void> {
    for (const [c, { service }] of this.#scenario.connections.entries()) {
      if (service !== 'ud') continue;
      const [a, b] = this.ends[c] as readonly [End, End];
      a.ah = await a.qp.pd.createAh({ destination: addressOf(b) });
      b.ah = await b.qp.pd.createAh({ destination: addressOf(a) });
    }
  }

  #address(index: number): IpAddress {
    return IpAddress.parse(this.#scenario.version === 4 ? `10.0.0.${index + 1}` : `fd00::${index + 1}`);
  }

  #connect({ service }: Connection, index: number): void {
    const from = index % this.devices.length;
    const to = (index + 1) % this.devices.length;
    const ends = [from, to].map((i) => new End(this.devices[i] as Device, service)) as [End, End];
    this.ends.push(ends);
    ends.forEach((end, i) => {
      const other = ends[1 - i] as End;
      this.#ready(end, other, this.#address(i === 0 ? to : from), service);
      end.fill(2 * index + i);
      end.postReceives();
      this.departures.set(end.qp, []);
      this.#senders.set(`${end.device.name} ${other.qp.qpn}`, end.qp);
    });
  }

  #ready({ qp }: End, other: End, destination: IpAddress, service: Connection['service']): void {
    const { mtu, timeout } = this.#scenario;
    if (service === 'ud') {
      qp.modifyNow({ state: QpState.Init, qkey: QKEY });
      qp.modifyNow({ state: QpState.Rtr });
      qp.modifyNow({ state: QpState.Rts, sqPsn: 7 });
      return;
    }
    const access = Access.RemoteWrite | (service === 'rc' ? Access.RemoteRead | Access.RemoteAtomic : 0);
    qp.modifyNow({ state: QpState.Init, access });
    const path = { av: { destination }, destQpn: other.qp.qpn, rqPsn: 0xff_ff_f0, mtu };
    if (service === 'uc') {
      qp.modifyNow({ state: QpState.Rtr, ...path });
      qp.modifyNow({ state: QpState.Rts, sqPsn: 0xff_ff_f0 });
      return;
    }
    qp.modifyNow({ state: QpState.Rtr, ...path, maxDestRdAtomic: 4, minRnrTimer: 1 });
    qp.modifyNow({ state: QpState.Rts, sqPsn: 0xff_ff_f0, timeout, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 });
  }

  #post(c: number, k: number, { kind, length, by }: Work): void {
    const { service } = this.#scenario.connections[c] as Connection;
    const ends = this.ends[c] as readonly [End, End];
    const [end, other] = [ends[by], ends[1 - by] as End];
    const mine = { mr: end.mr, offset: k * SLOT_BYTES };
    const theirs = { remoteAddr: other.mr.iova, rkey: other.mr.rkey };
    if (service === 'ud') {
      this.#postDatagram(end, other, k, Math.min(length, this.#scenario.mtu));
    } else if (kind === 'send' || (service === 'uc' && kind !== 'write')) {
      end.qp.postSend({ wrId: k, opcode: WrOpcode.Send, sges: [{ ...mine, length }] });
    } else if (kind === 'write') {
      const remoteAddr = theirs.remoteAddr + BigInt(2 * THIRD_BYTES + k * SLOT_BYTES);
      end.qp.postSend({ wrId: k, opcode: WrOpcode.RdmaWrite, sges: [{ ...mine, length }], ...theirs, remoteAddr });
    } else if (kind === 'read') {
      const remoteAddr = theirs.remoteAddr + BigInt(k * SLOT_BYTES);
      const sges = [{ mr: end.mr, offset: 2 * THIRD_BYTES + k * SLOT_BYTES, length }];
      end.qp.postSend({ wrId: k, opcode: WrOpcode.RdmaRead, sges, ...theirs, remoteAddr });
    } else {
      const sges = [{ mr: end.mr, offset: 2 * THIRD_BYTES + k * SLOT_BYTES, length: 8 }];
      const remoteAddr = theirs.remoteAddr + BigInt(3 * THIRD_BYTES - 8);
      end.qp.postSend({ wrId: k, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...theirs, remoteAddr, compareAdd: 1n });
    }
  }

  #postDatagram(end: End, other: End, k: number, length: number): void {
    if (end.ah === undefined) throw new Error('address handles are made before work is posted');
    const sges = [{ mr: end.mr, offset: k * SLOT_BYTES, length }];
    const to = { ah: end.ah, remoteQpn: other.qp.qpn, remoteQkey: QKEY };
    end.qp.postSend({ wrId: k, opcode: WrOpcode.Send, sges, ...to });
  }

  #saw(now: number, port: string, bytes: Uint8Array, start: number, end: number): void {
    const frame = this.#frame;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
    // Without the ICRC: a CRC over data and its own CRC says nothing of the data.
    this.trace = (Math.imul(this.trace ^ crc32(bytes, start, end - 4), 0x01_00_01_93) ^ now) >>> 0;
    if (!icrcMatches(frame)) throw new Error('a device sends frames whose ICRC is right');
    const key = `${port} ${frame.destQpn}`;
    if (frame.opcode === Op.Cnp) {
      const times = this.notifications.get(key) ?? [];
      this.notifications.set(key, times);
      times.push(now);
      return;
    }
    if (frame.opcode === Op.Acknowledge) return;
    const sender = this.#senders.get(key);
    if (sender === undefined) return;
    const limit = sender.congestion?.rateBps ?? Infinity;
    const rateBps = limit >= (this.#scenario.congestion?.lineRateBps ?? Infinity) ? Infinity : limit;
    this.departures.get(sender)?.push({ at: now, bytes: end - start, rateBps });
  }
}
