/**
 * One service between two honest hosts: its queue pairs, memory and work, and what all of it must look like at the
 * end. Work is posted a few requests at a time, so that it lasts while the attack goes on. Owns the flat model.
 *
 * ```
 *   target     guard | written | guard | read only | guard | counter | guard | receives | guard | traps, see Traps | guard
 *   initiator  guard | sources | guard | results of READs and atomics | guard
 * ```
 */
import { Access, type Ah, type Cq, type Device, type MemoryRegion, type Pd, type Qp, QpType, type Srq } from 'rocev2';
import type { Prng } from 'rocev2/sim';
import { WcOpcode, WcStatus, WorkCompletion, WrOpcode } from 'rocev2/transport';
import { Arena } from './arena.ts';
import type { Scenario, SwarmService } from './scenario.ts';

/** An honest host. */
export interface Party {
  readonly device: Device;
  readonly pd: Pd;
  /** Another domain, whose keys the queue pairs must not use. */
  readonly otherPd: Pd;
}

/** A region as its peers know it. */
export interface MemoryArea {
  readonly rkey: number;
  readonly va: bigint;
  readonly length: number;
}

/** Memory at which an attacker aims that has to miss, each larger than the MTU. */
export interface Traps {
  /** For WRITEs of the peer. */
  readonly writable: MemoryArea;
  /** For READs of the peer, and for nothing else. */
  readonly readable: MemoryArea;
  /** For READs and WRITEs of the peer, which does none. */
  readonly granted: MemoryArea;
  /** For nothing from outside. */
  readonly secret: MemoryArea;
  /** For READs, WRITEs and atomics of another domain's peers. */
  readonly foreign: MemoryArea;
}

/** One end: a queue pair, its completion queue and what it has posted and not seen completed, oldest first. */
export class End {
  readonly party: Party;
  readonly cq: Cq;
  readonly srq: Srq | undefined;
  qp: Qp;
  readonly sends: number[] = [];
  readonly receives: number[] = [];

  constructor(party: Party, type: QpType, withSrq: boolean) {
    this.party = party;
    this.cq = party.device.createCq(256);
    this.srq = withSrq ? party.pd.createSrq({ maxWr: 64 }) : undefined;
    const more = this.srq === undefined ? {} : { srq: this.srq };
    this.qp = party.pd.createQp({ sendCq: this.cq, recvCq: this.cq, type, ...more });
  }
}

type Kind = 'write' | 'send' | 'read' | 'add';
interface Work {
  readonly kind: Kind;
  readonly length: number;
}

export class Flow {
  readonly service: SwarmService;
  readonly type: QpType;
  readonly initiator: End;
  readonly target: End;
  readonly qkey: number;
  /** UD: the way to the target, or to the group. */
  ah: Ah | undefined;
  /** Work requests that ended in success. */
  succeeded = 0;
  readonly problems: string[] = [];
  readonly writable: MemoryRegion;
  readonly readable: MemoryRegion;
  readonly traps: Traps;
  readonly #work: readonly Work[];
  readonly #window: number;
  readonly #slot: number;
  readonly #counter: MemoryRegion;
  readonly #receiving: MemoryRegion;
  readonly #sources: MemoryRegion;
  readonly #results: MemoryRegion;
  readonly #arenas: readonly Arena[];
  readonly #received: { readonly slot: number; readonly length: number }[] = [];
  readonly #completion = new WorkCompletion();
  #posted = 0;

  constructor(service: SwarmService, scenario: Scenario, from: Party, to: Party, random: Prng) {
    this.service = service;
    this.type = service === 'uc' ? QpType.Uc : service === 'ud' || service === 'multicast' ? QpType.Ud : QpType.Rc;
    this.initiator = new End(from, this.type, false);
    this.target = new End(to, this.type, service === 'srq');
    this.qkey = random.u32() & 0x7f_ff_ff_ff;
    this.#work = Array.from({ length: scenario.work }, () => drawWork(this.type, scenario.mtu, random));
    this.#window = 1 + random.below(6);
    this.#slot = 2 * scenario.mtu + 48;
    const slots = this.#slot * scenario.work;
    const there = new Arena(to.pd);
    this.writable = there.region(slots, Access.LocalWrite | Access.RemoteWrite);
    this.readable = there.region(this.#slot, Access.LocalWrite | Access.RemoteRead, random.u32());
    this.#counter = there.region(8, Access.LocalWrite | Access.RemoteAtomic);
    this.#receiving = there.region(slots, Access.LocalWrite);
    const elsewhere = new Arena(to.otherPd);
    const readWrite = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead;
    this.traps = {
      writable: areaOf(this.writable),
      readable: areaOf(this.readable),
      granted: areaOf(there.region(this.#slot, readWrite, random.u32())),
      secret: areaOf(there.region(this.#slot, Access.LocalWrite, random.u32())),
      foreign: areaOf(elsewhere.region(this.#slot, readWrite | Access.RemoteAtomic, random.u32())),
    };
    const here = new Arena(from.pd);
    this.#sources = here.region(slots, 0, random.u32());
    this.#results = here.region(slots, Access.LocalWrite);
    this.#arenas = [here, there, elsewhere];
  }

  /** Receives for all messages, before the first can come. */
  postReceives(): void {
    for (let i = 0; i < this.#work.length; i++) this.#postReceive(i);
  }

  get done(): boolean {
    return this.#posted === this.#work.length && this.initiator.sends.length === 0;
  }

  /** Takes completions, checks their order, and posts more, up to so many in all. */
  turn(most = this.#work.length): void {
    this.#poll(this.initiator);
    this.#poll(this.target);
    const { qp, sends } = this.initiator;
    while (qp.stateName === 'RTS' && this.#posted < Math.min(most, this.#work.length) && sends.length < this.#window)
      this.#post();
  }

  /** After the end of the queue pairs: completes `problems`. `strict`: no forged packet can have been valid. */
  judge(strict: boolean): void {
    for (const end of [this.initiator, this.target]) {
      this.#poll(end);
      if (end.sends.length > 0) this.problems.push(`${this.service}: ${end.sends.length} sends have not completed`);
      if (end.srq === undefined && end.receives.length > 0)
        this.problems.push(`${this.service}: ${end.receives.length} receives have not completed`);
    }
    for (const arena of this.#arenas)
      if (!arena.intact()) this.problems.push(`${this.service}: memory was written that nobody may write`);
    if (!strict) return;
    if (this.type === QpType.Rc) this.#judgeReliable();
    else this.#judgeUnreliable();
  }

  #post(): void {
    const index = this.#posted++;
    const work = this.#work[index];
    if (work === undefined) return;
    const offset = index * this.#slot;
    const { initiator } = this;
    initiator.sends.push(index);
    const sges = [{ mr: this.#sources, offset, length: work.length }];
    const into = (length: number) => [{ mr: this.#results, offset, length }];
    const { qp } = initiator;
    if (work.kind === 'write') {
      const { writable } = this;
      const remoteAddr = writable.iova + BigInt(offset);
      qp.postSend({ wrId: index, opcode: WrOpcode.RdmaWrite, sges, remoteAddr, rkey: writable.rkey });
    } else if (work.kind === 'read') {
      const { iova, rkey } = this.readable;
      qp.postSend({ wrId: index, opcode: WrOpcode.RdmaRead, sges: into(work.length), remoteAddr: iova, rkey });
    } else if (work.kind === 'add') {
      const { iova, rkey } = this.#counter;
      const opcode = WrOpcode.AtomicFetchAndAdd;
      qp.postSend({ wrId: index, opcode, sges: into(8), remoteAddr: iova, rkey, compareAdd: 1n });
    } else {
      const remoteQpn = this.service === 'multicast' ? 0xff_ff_ff : this.target.qp.qpn;
      const to = this.ah === undefined ? {} : { ah: this.ah, remoteQpn, remoteQkey: this.qkey };
      qp.postSend({ wrId: index, opcode: WrOpcode.Send, sges, ...to });
    }
  }

  #postReceive(slot: number): void {
    const sges = [{ mr: this.#receiving, offset: slot * this.#slot, length: this.#slot }];
    const { qp, srq, receives } = this.target;
    receives.push(slot);
    (srq ?? qp).postRecv({ wrId: slot, sges });
  }

  #poll(end: End): void {
    const wc = this.#completion;
    while (end.cq.poll(wc)) {
      const isReceive = (wc.opcode & WcOpcode.Recv) !== 0;
      const expected = (isReceive ? end.receives : end.sends).shift();
      if (expected !== wc.wrId)
        this.problems.push(`${this.service}: completion of ${wc.wrId}, the next is ${expected ?? 'none'}`);
      if (wc.status !== WcStatus.Success) continue;
      if (!isReceive) this.succeeded += 1;
      else {
        this.#received.push({ slot: wc.wrId, length: wc.byteLen });
        if (end.qp.stateName !== 'ERR') this.#postReceive(wc.wrId);
      }
    }
  }

  #judgeReliable(): void {
    let adds = 0n;
    let messages = 0;
    for (const [index, { kind, length }] of this.#work.entries()) {
      const at = index * this.#slot;
      if (kind === 'write') this.#same(`WRITE ${index}`, this.writable, at, this.#sources, at, length);
      else if (kind === 'read') this.#same(`READ ${index}`, this.#results, at, this.readable, 0, length);
      else if (kind === 'send') {
        const got = this.#received[messages++];
        if (got === undefined || got.length !== length)
          this.problems.push(`${this.service}: SEND ${index} did not come`);
        else this.#same(`SEND ${index}`, this.#receiving, got.slot * this.#slot, this.#sources, at, length);
      } else if (word(this.#results, at) !== adds++)
        this.problems.push(`${this.service}: atomic ${index} has a wrong result`);
    }
    if (word(this.#counter, 0) !== adds) this.problems.push(`${this.service}: the counter is not ${adds}`);
    if (this.#received.length !== messages) this.problems.push(`${this.service}: a SEND came that nobody sent`);
  }

  /** Messages may be lost or come twice; whatever is there has been sent. */
  #judgeUnreliable(): void {
    const grh = this.type === QpType.Ud ? 40 : 0;
    for (const [index, { kind, length }] of this.#work.entries()) {
      if (kind !== 'write') continue;
      const at = index * this.#slot;
      const [there, sent] = [this.writable.bytes, this.#sources.bytes];
      for (let i = 0; i < this.#slot; i++)
        if (there[at + i] !== 0 && (i >= length || there[at + i] !== sent[at + i])) {
          this.problems.push(`${this.service}: byte ${i} of WRITE ${index} is not what was sent`);
          break;
        }
    }
    const newest = new Map(this.#received.map(({ slot, length }) => [slot, length - grh]));
    for (const [slot, length] of newest) {
      const from = slot * this.#slot + grh;
      const got = this.#receiving.bytes.subarray(from, from + length);
      const sent = this.#work.some(
        (work, i) => work.kind === 'send' && work.length === length && equal(got, this.#sources.bytes, i * this.#slot),
      );
      if (!sent) this.problems.push(`${this.service}: a message of ${length} bytes came that nobody sent`);
    }
  }

  #same(what: string, a: MemoryRegion, at: number, b: MemoryRegion, from: number, length: number): void {
    if (!equal(a.bytes.subarray(at, at + length), b.bytes, from))
      this.problems.push(`${this.service}: ${what} is not what was sent`);
    for (let i = at + length; a === this.writable && i < at + this.#slot; i++)
      if (a.bytes[i] !== 0) this.problems.push(`${this.service}: ${what} went beyond its end`);
  }
}

function areaOf({ rkey, iova, length }: MemoryRegion): MemoryArea {
  return { rkey, va: iova, length };
}

function drawWork(type: QpType, mtu: number, random: Prng): Work {
  const kinds: readonly Kind[] =
    type === QpType.Ud ? ['send'] : type === QpType.Uc ? ['write', 'send'] : ['write', 'send', 'read', 'add'];
  const lengths = type === QpType.Ud ? [1, 63, mtu - 1, mtu] : [0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu + 5];
  return {
    kind: kinds[random.below(kinds.length)] ?? 'send',
    length: lengths[random.below(lengths.length)] ?? 1,
  };
}

function equal(got: Uint8Array, all: Uint8Array, from: number): boolean {
  for (let i = 0; i < got.length; i++) if (got[i] !== all[from + i]) return false;
  return true;
}

const word = ({ bytes }: MemoryRegion, at: number): bigint =>
  new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at, true);
