/** Two devices on an in-process network without faults, and any number of connected queue pairs, for benches. */

import { attachDevice, type Cq, type Device, type Pd, type Qp, World } from 'rocev2';
import { type IpAddress, IpPrefix, Medium } from 'rocev2/packets';
import { Access, type MemoryRegion, QpState, WorkCompletion, WrOpcode } from 'rocev2/transport';

export interface BenchEnd {
  readonly device: Device;
  readonly address: IpAddress;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly qps: Qp[];
}

export class BenchPair {
  readonly world = new World({ seed: 1, medium: Medium.Ip });
  readonly a: BenchEnd;
  readonly b: BenchEnd;
  /** What b lends to WRITEs of a. */
  readonly target: MemoryRegion;
  readonly source: MemoryRegion;
  readonly #mtu: number;
  #underWay = 0;
  readonly #completion = new WorkCompletion();

  constructor(mtu: number, regionBytes: number) {
    this.#mtu = mtu;
    this.a = this.#end('a', 1);
    this.b = this.#end('b', 2);
    this.source = this.a.pd.regMr(regionBytes, { access: Access.LocalWrite });
    this.target = this.b.pd.regMr(regionBytes, { access: Access.LocalWrite | Access.RemoteWrite });
    this.source.bytes.fill(0x5a);
  }

  /** Connects `count` more queue pairs, without the connection manager. */
  connect(count: number): void {
    for (let i = 0; i < count; i++) {
      const [qpA, qpB] = [this.#newQp(this.a), this.#newQp(this.b)];
      toReadyToSend(qpA, qpB, this.b.address, this.#mtu);
      toReadyToSend(qpB, qpA, this.a.address, this.#mtu);
    }
  }

  /** Posts a WRITE of `length` bytes at `offset` of both regions. */
  postWrite(qp: Qp, offset: number, length: number): void {
    this.#underWay += 1;
    qp.postSend({
      wrId: 0,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: this.source, offset, length }],
      remoteAddr: this.target.iova + BigInt(offset),
      rkey: this.target.rkey,
    });
  }

  /** Runs the world until at most `left` WRITEs are under way. Throws when one failed. */
  drain(left: number): void {
    for (;;) {
      while (this.a.cq.poll(this.#completion)) {
        if (this.#completion.status !== 0) throw new Error(`a WRITE ended with status ${this.#completion.status}`);
        this.#underWay -= 1;
      }
      if (this.#underWay <= left) return;
      if (!this.world.step()) throw new Error('the world fell silent');
    }
  }

  /** Packets sent by both devices so far. */
  get packets(): number {
    return this.a.device.portCounters.sentPkts + this.b.device.portCounters.sentPkts;
  }

  #end(name: string, number: number): BenchEnd {
    const prefix = IpPrefix.parse(`10.0.0.${number}/24`);
    const device = attachDevice(this.world, name, { addresses: [prefix.toString()], mtu: LINK_MTU });
    return { device, address: prefix.address, pd: device.allocPd(), cq: device.createCq(CQ_ENTRIES), qps: [] };
  }

  #newQp(end: BenchEnd): Qp {
    const qp = end.pd.createQp({ sendCq: end.cq, recvCq: end.cq });
    end.qps.push(qp);
    return qp;
  }
}

function toReadyToSend(qp: Qp, peer: Qp, destination: IpAddress, mtu: number): void {
  const access = Access.RemoteWrite | Access.RemoteRead;
  qp.modifyNow({ state: QpState.Init, access });
  const rtr = { destQpn: peer.qpn, rqPsn: FIRST_PSN, mtu, maxDestRdAtomic: 1, minRnrTimer: 12 };
  qp.modifyNow({ state: QpState.Rtr, av: { destination }, ...rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn: FIRST_PSN, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
}

/** Room for a path MTU of 4096 and all headers. */
const LINK_MTU = 4200;
const CQ_ENTRIES = 4096;
const FIRST_PSN = 1000;
