/**
 * What a responder must say to one request after another, written from ref:conformance#3 alone and as plainly as
 * possible: one region, one key, every reply given at once. It knows nothing of queues, offsets into frames or extended
 * PSNs.
 */
import { OPCODE_FLAGS, Op, OpFlag } from '../../../packets/opcode.ts';
import {
  ack,
  atomicAck,
  describePacket,
  nak,
  type Packet,
  readResponses,
  rnrNak,
} from '../../transport/support/packets.ts';

export interface OracleOptions {
  readonly mtu: number;
  readonly iova: bigint;
  readonly rkey: number;
  readonly memory: Uint8Array;
  readonly receiveBytes: number;
  readonly maxDestRdAtomic: number;
  readonly timer: number;
}

interface Past {
  readonly packet: Packet;
  readonly first: number;
  readonly last: number;
  readonly original: bigint;
}

const has = (packet: Packet, flag: number): boolean => ((OPCODE_FLAGS[packet.opcode] ?? 0) & flag) !== 0;

export class ResponderOracle {
  expected = 0;
  msn = 0;
  failed = false;
  /** Receives posted and not taken. */
  receives = 0;
  readonly completed: string[] = [];
  readonly memory: Uint8Array;
  open: 'SEND' | 'WRITE' | 'none' = 'none';
  /** The open message: where a WRITE goes on and what it still brings, what a SEND has brought. */
  writeAt = 0;
  left = 0;
  received = 0;
  readonly #options: OracleOptions;
  #silent = false;
  #newest = -1;
  #past: Past[] = [];

  constructor(options: OracleOptions) {
    this.#options = options;
    this.memory = options.memory.slice();
  }

  /** The replies to `packet`, whose PSN counts from the connection's first. */
  take(packet: Packet): string[] {
    return this.#replies(packet).map(describePacket);
  }

  #replies(packet: Packet): Packet[] {
    if (this.failed) return [];
    if (packet.psn > this.expected) {
      if (this.#silent) return [];
      this.#silent = true;
      return [nak(0x60, { psn: this.expected, msn: this.msn })];
    }
    if (packet.psn < this.expected) return this.#duplicate(packet);
    this.#silent = false;
    const fault = this.#fault(packet);
    if (fault === 'not ready') {
      this.#silent = true;
      return [rnrNak(this.#options.timer, { psn: this.expected, msn: this.msn })];
    }
    if (fault !== 0) {
      this.failed = true;
      return [nak(fault, { psn: this.expected, msn: this.msn })];
    }
    return this.#execute(packet);
  }

  #duplicate(packet: Packet): Packet[] {
    // None is ever executed here, so none is known.
    if (!has(packet, OpFlag.Request) || has(packet, OpFlag.Flush | OpFlag.AtomicWrite)) return [];
    if (!has(packet, OpFlag.Read | OpFlag.Atomic)) {
      return this.#newest < 0 ? [] : [ack({ psn: this.#newest, msn: this.msn })];
    }
    const past = this.#past.find(({ first, last }) => packet.psn >= first && packet.psn <= last);
    if (past === undefined || past.packet.opcode !== packet.opcode) return [];
    if (has(packet, OpFlag.Atomic)) return [atomicAck({ psn: packet.psn, msn: this.msn, original: past.original })];
    const asked = packet.reth;
    const before = past.packet.reth;
    if (asked === undefined || before === undefined || asked.rkey !== before.rkey) return [];
    const skipped = (packet.psn - past.first) * this.#options.mtu;
    if (asked.va !== before.va + BigInt(skipped) || asked.length > before.length - skipped) return [];
    return this.#read(packet.psn, asked.va, asked.length);
  }

  #fault(packet: Packet): number | 'not ready' {
    const { mtu, receiveBytes } = this.#options;
    const size = packet.payload?.length ?? 0;
    const starts = has(packet, OpFlag.First | OpFlag.Only);
    const kind = has(packet, OpFlag.Send) ? 'SEND' : has(packet, OpFlag.Write) ? 'WRITE' : 'other';
    if (!has(packet, OpFlag.Send | OpFlag.Write | OpFlag.Read | OpFlag.Atomic)) return 0x61;
    if (starts ? this.open !== 'none' : this.open !== kind) return 0x61;
    if (kind === 'other') return this.#answeredFault(packet, size);
    if (kind === 'SEND' && starts && this.receives === 0) return 'not ready';
    const full = has(packet, OpFlag.First | OpFlag.Middle);
    if (full ? size !== mtu : size > mtu || (has(packet, OpFlag.Last) && size === 0)) return 0x61;
    if (packet.pad !== undefined && packet.pad !== (-size & 3)) return 0x61;
    if (kind === 'SEND') return (starts ? 0 : this.received) + size > receiveBytes ? 0x61 : 0;
    const left = starts ? (packet.reth?.length ?? 0) : this.left;
    if (full ? size >= left : size !== left) return 0x61;
    if (starts && !this.#opens(packet.reth?.va ?? 0n, packet.reth?.rkey ?? 0, left)) return 0x62;
    return packet.imm !== undefined && this.receives === 0 ? 'not ready' : 0;
  }

  #answeredFault(packet: Packet, size: number): number {
    if (size > 0 || (packet.pad ?? 0) > 0) return 0x61;
    const { reth, atomic } = packet;
    if (reth !== undefined) return this.#opens(reth.va, reth.rkey, reth.length) ? 0 : 0x62;
    if (atomic === undefined || atomic.va % 8n !== 0n) return 0x61;
    return this.#opens(atomic.va, atomic.rkey, 8) ? 0 : 0x62;
  }

  #opens(va: bigint, rkey: number, length: number): boolean {
    const { iova } = this.#options;
    if (length === 0) return true;
    return rkey === this.#options.rkey && va >= iova && va + BigInt(length) <= iova + BigInt(this.memory.length);
  }

  #execute(packet: Packet): Packet[] {
    if (has(packet, OpFlag.Read)) return this.#executeRead(packet);
    if (has(packet, OpFlag.Atomic)) return this.#executeAtomic(packet);
    const psn = this.expected;
    const payload = packet.payload ?? new Uint8Array(0);
    const write = has(packet, OpFlag.Write);
    const ends = has(packet, OpFlag.Last | OpFlag.Only);
    if (has(packet, OpFlag.First | OpFlag.Only)) {
      this.received = 0;
      this.left = packet.reth?.length ?? 0;
      this.writeAt = Number((packet.reth?.va ?? 0n) - this.#options.iova);
      if (!write) this.receives -= 1;
    }
    if (write && payload.length > 0) this.memory.set(payload, this.writeAt);
    this.writeAt += payload.length;
    this.left -= payload.length;
    this.received += payload.length;
    this.open = ends ? 'none' : write ? 'WRITE' : 'SEND';
    if (ends) this.#finish(packet, write);
    this.#newest = psn;
    this.expected += 1;
    return packet.ackReq === true ? [ack({ psn, msn: this.msn })] : [];
  }

  #finish(packet: Packet, write: boolean): void {
    this.msn += 1;
    const imm = packet.imm === undefined ? '' : ` imm 0x${packet.imm.toString(16)}`;
    if (write && packet.imm === undefined) return;
    if (write) this.receives -= 1;
    this.completed.push(`Success ${write ? 'RecvRdmaWithImm' : 'Recv'} ${this.received} bytes${imm}`);
  }

  #executeRead(packet: Packet): Packet[] {
    const { va = 0n, length = 0 } = packet.reth ?? {};
    this.msn += 1;
    const replies = this.#read(this.expected, va, length);
    this.#remember(packet, replies.length, 0n);
    return replies;
  }

  #executeAtomic(packet: Packet): Packet[] {
    const { va = 0n, swapAdd = 0n, compare = 0n } = packet.atomic ?? {};
    const view = new DataView(this.memory.buffer);
    const at = Number(va - this.#options.iova);
    const original = view.getBigUint64(at, true);
    if (packet.opcode === Op.FetchAdd) view.setBigUint64(at, BigInt.asUintN(64, original + swapAdd), true);
    else if (original === compare) view.setBigUint64(at, swapAdd, true);
    this.msn += 1;
    this.#newest = this.expected;
    const reply = atomicAck({ psn: this.expected, msn: this.msn, original });
    this.#remember(packet, 1, original);
    return [reply];
  }

  #remember(packet: Packet, packets: number, original: bigint): void {
    this.#past.push({ packet, first: this.expected, last: this.expected + packets - 1, original });
    if (this.#past.length > this.#options.maxDestRdAtomic) this.#past.shift();
    this.expected += packets;
  }

  #read(psn: number, va: bigint, length: number): Packet[] {
    const at = Number(va - this.#options.iova);
    const data = length === 0 ? new Uint8Array(0) : this.memory.slice(at, at + length);
    return readResponses({ psn, msn: this.msn, data, mtu: this.#options.mtu });
  }
}
