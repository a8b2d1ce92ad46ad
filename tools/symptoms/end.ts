/**
 * One end of a connection in a scene: a queue pair, its queues, its memory, and the operations that scenes use.
 *
 * Owns the way from "write 5000 bytes" to work requests and completions. Never looks at the wire.
 */

import type { Cq, Device, Pd, Qp } from 'rocev2';
import type { IpAddress, MacAddress } from 'rocev2/packets';
import { Access, type MemoryRegion, type SendWr, type WcStatus, WrOpcode } from 'rocev2/transport';

/** A host of a scene. */
export interface Host {
  readonly name: string;
  readonly device: Device;
  readonly addresses: readonly IpAddress[];
  readonly mac: MacAddress;
}

/** What of a peer's memory a request names, where it is not simply the beginning of it. */
export interface Target {
  /** Bytes from the beginning of the region; may be beyond its end, or negative. */
  readonly offset?: number;
  /** Another key. */
  readonly rkey?: number;
}

/** All remote accesses that a queue pair can allow. */
export const ALL_ACCESS = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;

/** See the top of this file. Operations resolve with their completion status. */
export class StageEnd {
  readonly host: Host;
  readonly pd: Pd;
  readonly sendCq: Cq;
  readonly recvCq: Cq;
  readonly qp: Qp;
  /** What messages leave from and arrive in, and what the peer's keys open. */
  readonly mr: MemoryRegion;

  /** A queue pair in RESET. */
  constructor(host: Host, memoryBytes = DEFAULT_MEMORY_BYTES) {
    const { device } = host;
    this.host = host;
    this.pd = device.allocPd();
    this.sendCq = device.createCq(CQ_ENTRIES);
    this.recvCq = device.createCq(CQ_ENTRIES);
    this.qp = this.pd.createQp({ sendCq: this.sendCq, recvCq: this.recvCq });
    this.mr = this.pd.regMr(memoryBytes, { access: ALL_ACCESS, iova: MEMORY_AT });
    for (let at = 0; at < this.mr.bytes.length; at++) this.mr.bytes[at] = (at * 7 + (at >> 8)) & 0xff;
  }

  get qpn(): number {
    return this.qp.qpn;
  }

  get addresses(): readonly IpAddress[] {
    return this.host.addresses;
  }

  /** Another region of this end, with rights of its own. */
  region(bytes: number, access: number): MemoryRegion {
    return this.pd.regMr(bytes, { access });
  }

  /** Posts receives. */
  receive(count = 1, length = this.mr.bytes.length): void {
    for (let i = 0; i < count; i++) this.qp.postRecv({ wrId: i, sges: [{ mr: this.mr, length }] });
  }

  /** Resolves with the status of the next receive. */
  async received(): Promise<WcStatus> {
    return (await this.recvCq.next()).value?.status;
  }

  send(length: number, more: Partial<SendWr> = {}): Promise<WcStatus> {
    return this.request({ opcode: WrOpcode.Send, ...more }, length);
  }

  write(peer: StageEnd, length: number, target: Target = {}): Promise<WcStatus> {
    return this.request({ opcode: WrOpcode.RdmaWrite, ...remote(peer.mr, target) }, length);
  }

  writeImm(peer: StageEnd, length: number, target: Target = {}): Promise<WcStatus> {
    return this.request({ opcode: WrOpcode.RdmaWriteWithImm, immData: 7, ...remote(peer.mr, target) }, length);
  }

  read(peer: StageEnd, length: number, target: Target = {}): Promise<WcStatus> {
    return this.request({ opcode: WrOpcode.RdmaRead, ...remote(peer.mr, target) }, length);
  }

  fetchAdd(peer: StageEnd, target: Target = {}): Promise<WcStatus> {
    return this.request({ opcode: WrOpcode.AtomicFetchAndAdd, compareAdd: 1n, ...remote(peer.mr, target) }, 8);
  }

  /** Posts any work request; without pieces of its own it takes `length` bytes of the memory. */
  async request(wr: Partial<SendWr> & Pick<SendWr, 'opcode'>, length: number): Promise<WcStatus> {
    this.qp.postSend({ wrId: 1, sges: length === 0 ? [] : [{ mr: this.mr, length }], ...wr });
    // Completions come in the order of posting, and so do their waiters.
    return (await this.sendCq.next()).value?.status;
  }
}

/** What names a place in a peer's memory in a work request. */
export function remote(
  mr: MemoryRegion,
  { offset = 0, rkey = mr.rkey }: Target = {},
): Pick<SendWr, 'remoteAddr' | 'rkey'> {
  return { remoteAddr: BigInt.asUintN(64, mr.iova + BigInt(offset)), rkey };
}

const DEFAULT_MEMORY_BYTES = 1 << 18;
const MEMORY_AT = 0x7f00_0000_0000n;
const CQ_ENTRIES = 1024;
