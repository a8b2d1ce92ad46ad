/**
 * What one side of a connection asks of the other, and what must come of it: random work requests, and a flat model
 * that executes them one after the other on plain arrays. READs and the WRITEs and atomics after them are kept
 * well-defined: a request that changes bytes which an unfenced READ may still be reading gets a fence. What a FLUSH for
 * persistence finds in memory is kept, and compared with the model as it was when that FLUSH came.
 */
import fc from 'fast-check';
import type { MemoryRegion } from '../../../transport/memory.ts';
import type { Random } from '../../../transport/random.ts';
import { FlushLevel, FlushType, type SendWr, type Sge, WcOpcode, WrOpcode } from '../../../transport/work.ts';
import type { Side } from './side.ts';

export interface Op {
  readonly opcode: WrOpcode;
  /** The size is `packets` times the MTU and `rest`, 0 at least. */
  readonly packets: number;
  readonly rest: number;
  /** Where in the target, and how the local memory is split. */
  readonly place: number;
  readonly split: number;
  readonly signaled: boolean;
  readonly fence: boolean;
  readonly solicited: boolean;
}

/** BIND MW and REG MR have no meaning without what follows them: they have tests of their own. */
const OPCODES = Object.values(WrOpcode).filter((opcode) => opcode !== WrOpcode.BindMw && opcode !== WrOpcode.RegMr);

/** One request with an opcode out of `opcodes`. */
export const opOf = (opcodes: readonly WrOpcode[]): fc.Arbitrary<Op> =>
  fc.record({
    opcode: fc.constantFrom(...opcodes),
    packets: fc.nat(3),
    rest: fc.integer({ min: -3, max: 3 }),
    place: fc.nat(1_000_000),
    split: fc.nat(1_000_000),
    signaled: fc.boolean(),
    fence: fc.boolean(),
    solicited: fc.boolean(),
  });

export const op: fc.Arbitrary<Op> = opOf(OPCODES);

export interface ExpectedSend {
  readonly opcode: number;
  readonly byteLen: number;
  readonly signaled: boolean;
  /** PSNs counted from the side's first. */
  readonly firstPsn: number;
  readonly lastPsn: number;
  readonly expectsResponse: boolean;
}

export interface ExpectedReceive {
  readonly opcode: number;
  readonly data: Uint8Array;
  readonly byteLen: number;
  readonly imm: number;
  readonly inv: number;
  readonly solicited: boolean;
}

const SLACK = 64;

/** The work of `from` on `to`: requests to post there, receives to post here, and the model of all memory involved. */
export class Workload {
  readonly from: Side;
  readonly to: Side;
  readonly wrs: SendWr[] = [];
  readonly sends: ExpectedSend[] = [];
  readonly receives: ExpectedReceive[] = [];
  /** Regions that an invalidation kills, by the index of its request. */
  readonly doomed = new Map<number, MemoryRegion>();
  /** What FLUSHes for persistence found, and what they have to find. */
  readonly flushed: Uint8Array[] = [];
  readonly toFlush: Uint8Array[] = [];
  readonly remote: MemoryRegion;
  readonly sink: MemoryRegion;
  readonly slot: number;
  readonly #source: MemoryRegion;
  readonly #inbox: MemoryRegion;
  readonly #remoteModel: Uint8Array;
  readonly #sinkModel: Uint8Array;
  readonly #random: Random;
  readonly #mtu: number;
  /** Remote ranges that READs since the last fence may still be reading. */
  #reading: [number, number][] = [];
  #sinkAt = 4;
  #psn = 0;

  constructor(from: Side, to: Side, ops: readonly Op[], mtu: number, random: Random) {
    this.from = from;
    this.to = to;
    this.#mtu = mtu;
    this.#random = random;
    this.slot = 3 * mtu + 3;
    const keep = (at: number, length: number) => this.flushed.push(this.remote.bytes.slice(at, at + length));
    this.remote = to.region(this.slot + SLACK, random, { persistent: keep });
    this.#source = from.region(this.slot + SLACK, random);
    this.sink = from.region((ops.length + 1) * (this.slot + 4), random);
    this.#inbox = to.region((ops.length + 1) * this.slot, random);
    this.#remoteModel = this.remote.bytes.slice();
    this.#sinkModel = this.sink.bytes.slice();
    for (const [i, each] of ops.entries()) this.#add(i, each);
  }

  /** Posts receive `i` at the responder. */
  postReceive(i: number): void {
    const expected = this.receives[i];
    const length = expected?.opcode === WcOpcode.RecvRdmaWithImm ? 0 : this.slot;
    this.to.qp.postRecv({ wrId: i, sges: this.#pieces(this.#inbox, i * this.slot, length, i * 7) });
  }

  receivedBytes(i: number, length: number): Uint8Array {
    return this.#inbox.bytes.subarray(i * this.slot, i * this.slot + length);
  }

  /** Whether memory is what the model says, once everything has been executed. */
  memoryMatches(): { remote: boolean; sink: boolean } {
    return {
      remote: Buffer.compare(this.remote.bytes, this.#remoteModel) === 0,
      sink: Buffer.compare(this.sink.bytes, this.#sinkModel) === 0,
    };
  }

  #add(wrId: number, { opcode, packets, rest, place, split, signaled, fence, solicited }: Op): void {
    const atomic = opcode === WrOpcode.AtomicCmpAndSwp || opcode === WrOpcode.AtomicFetchAndAdd;
    const atomicWrite = opcode === WrOpcode.AtomicWrite;
    const read = opcode === WrOpcode.RdmaRead;
    const write = opcode === WrOpcode.RdmaWrite || opcode === WrOpcode.RdmaWriteWithImm || atomicWrite;
    const size = atomic || atomicWrite ? 8 : Math.max(0, packets * this.#mtu + rest);
    const room = this.remote.length - size;
    const at = atomic || atomicWrite ? this.#aligned(place, room) : place % (room + 1);
    const fenced = fence || ((write || atomic) && this.#overlapsRead(at, size));
    if (fenced) this.#reading = [];
    if (read) this.#reading.push([at, at + size]);
    const sourceAt = split % (this.#source.length - size + 1);
    const base = {
      wrId,
      opcode,
      signaled,
      fence: fenced,
      solicited,
      remoteAddr: this.remote.iova + BigInt(at),
      rkey: this.remote.rkey,
    };
    const data = this.#source.bytes.slice(sourceAt, sourceAt + size);
    const immData = this.#random.u32();
    if (opcode === WrOpcode.Flush) this.#flush(base, at, size, place);
    else if (opcode === WrOpcode.LocalInv) {
      this.wrs.push({ ...base, invalidateRkey: this.#doom(wrId, this.from) });
    } else if (read || atomic) {
      const sges = this.#pieces(this.sink, this.#sinkAt, size, split);
      const operands = { compareAdd: this.#operand(at, place), swap: BigInt(this.#random.u32()) << 17n };
      this.wrs.push({ ...base, sges, ...operands });
      this.#answer(opcode, at, size, operands);
      this.#sinkAt += size + 4;
    } else {
      const inv = opcode === WrOpcode.SendWithInv ? this.#doom(wrId, this.to) : -1;
      const local =
        size <= 32 && split % 3 === 0 ? { inline: data } : { sges: this.#pieces(this.#source, sourceAt, size, split) };
      this.wrs.push({ ...base, ...local, immData, invalidateRkey: Math.max(0, inv) });
      if (write) this.#remoteModel.set(data, at);
      const imm = opcode === WrOpcode.SendWithImm || opcode === WrOpcode.RdmaWriteWithImm ? immData : -1;
      if (opcode !== WrOpcode.RdmaWrite && !atomicWrite) {
        const kind = write ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv;
        this.receives.push({
          opcode: kind,
          data: write ? new Uint8Array(0) : data,
          byteLen: size,
          imm,
          inv,
          solicited,
        });
      }
    }
    this.#expectSend(opcode, size, signaled, read || atomic);
  }

  #flush(base: SendWr, at: number, size: number, place: number): void {
    const type = 1 + (place % 3);
    const level = place % 5 === 0 ? FlushLevel.Mr : FlushLevel.Range;
    this.wrs.push({ ...base, flush: { type, level }, length: size });
    const [from, to] = level === FlushLevel.Mr ? [0, this.remote.length] : [at, at + size];
    if ((type & FlushType.Persistent) !== 0) this.toFlush.push(this.#remoteModel.slice(from, to));
  }

  #expectSend(opcode: WrOpcode, size: number, signaled: boolean, brings: boolean): void {
    const byteLen = brings ? size : 0;
    const firstPsn = this.#psn;
    this.#psn += this.#packetsOf(opcode, size);
    const expectsResponse = brings || opcode === WrOpcode.Flush || opcode === WrOpcode.AtomicWrite;
    this.sends.push({
      opcode: COMPLETES_AS[opcode] ?? -1,
      byteLen,
      signaled,
      firstPsn,
      lastPsn: this.#psn - 1,
      expectsResponse,
    });
  }

  #packetsOf(opcode: WrOpcode, size: number): number {
    if (opcode === WrOpcode.LocalInv) return 0;
    return opcode === WrOpcode.Flush ? 1 : Math.max(1, Math.ceil(size / this.#mtu));
  }

  /** The model executes a READ or an atomic. */
  #answer(
    opcode: WrOpcode,
    at: number,
    size: number,
    { compareAdd, swap }: { compareAdd: bigint; swap: bigint },
  ): void {
    this.#sinkModel.set(this.#remoteModel.subarray(at, at + size), this.#sinkAt);
    if (opcode === WrOpcode.RdmaRead) return;
    const view = new DataView(this.#remoteModel.buffer);
    const old = view.getBigUint64(at, true);
    if (opcode === WrOpcode.AtomicFetchAndAdd) view.setBigUint64(at, BigInt.asUintN(64, old + compareAdd), true);
    else if (old === compareAdd) view.setBigUint64(at, swap, true);
  }

  /** Half of the time what stands there, so that COMPARE SWAP has something to do. */
  #operand(at: number, place: number): bigint {
    if (place % 2 === 0 && at + 8 <= this.#remoteModel.length) {
      return new DataView(this.#remoteModel.buffer).getBigUint64(at, true);
    }
    return (BigInt(this.#random.u32()) << 32n) | BigInt(this.#random.u32());
  }

  #doom(wrId: number, side: Side): number {
    const region = side.region(8, this.#random, { remoteInvalidate: true });
    this.doomed.set(wrId, region);
    return region.rkey;
  }

  /** Aligned in the address space, at any alignment in memory. */
  #aligned(place: number, room: number): number {
    const first = Number(-this.remote.iova & 7n);
    return first + (place % ((room - first) >> 3)) * 8;
  }

  #overlapsRead(at: number, size: number): boolean {
    return this.#reading.some(([from, to]) => at < to && from < at + size);
  }

  /** `length` bytes at `at` as one to four SGEs, empty ones among them. */
  #pieces(mr: MemoryRegion, at: number, length: number, split: number): Sge[] {
    const cuts = Array.from({ length: split % 4 }, (_, i) => (split * (i + 3)) % (length + 1)).sort((a, b) => a - b);
    const edges = [0, ...cuts, length];
    return edges.slice(1).map((end, i) => ({ mr, offset: at + (edges[i] ?? 0), length: end - (edges[i] ?? 0) }));
  }
}

const COMPLETES_AS: Readonly<Partial<Record<WrOpcode, number>>> = {
  [WrOpcode.Send]: WcOpcode.Send,
  [WrOpcode.SendWithImm]: WcOpcode.Send,
  [WrOpcode.SendWithInv]: WcOpcode.Send,
  [WrOpcode.RdmaWrite]: WcOpcode.RdmaWrite,
  [WrOpcode.RdmaWriteWithImm]: WcOpcode.RdmaWrite,
  [WrOpcode.RdmaRead]: WcOpcode.RdmaRead,
  [WrOpcode.AtomicCmpAndSwp]: WcOpcode.CompSwap,
  [WrOpcode.AtomicFetchAndAdd]: WcOpcode.FetchAdd,
  [WrOpcode.LocalInv]: WcOpcode.LocalInv,
  [WrOpcode.Flush]: WcOpcode.Flush,
  [WrOpcode.AtomicWrite]: WcOpcode.AtomicWrite,
};
