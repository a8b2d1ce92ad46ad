/**
 * Packets between two hosts, written line by line: what each host sends, which of it the capture sees and in what
 * order, and when.
 *
 * A host counts its IPv4 identifications unless told otherwise. PSNs are relative to `FIRST_PSN`, close below the wrap.
 */
import { IpAddress } from '../../../../packets/address.ts';
import { Syndrome, writeAeth } from '../../../../packets/aeth.ts';
import { BTH_BYTES, writeBth } from '../../../../packets/bth.ts';
import { writeDeth } from '../../../../packets/deth.ts';
import { Medium } from '../../../../packets/frame.ts';
import { FrameWriter } from '../../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../../packets/header-template.ts';
import {
  AETH_AT,
  DETH_AT,
  OPCODE_FLAGS,
  OPCODE_HEADER_BYTES,
  Op,
  OpFlag,
  RETH_AT,
} from '../../../../packets/opcode.ts';
import { PSN_MASK } from '../../../../packets/psn.ts';
import { writeReth } from '../../../../packets/reth.ts';
import { Analyzer, type AnalyzerOptions } from '../../../../pcap/analysis/analyzer.ts';
import { MARK_NAMES } from '../../../../pcap/analysis/facts.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { captured } from './observed-world.ts';

export const FIRST_PSN = 0xff_ff_fe;
export const A_QPN = 0xa1;
export const B_QPN = 0xb1;
export const MTU = 1024;

/** What a packet says beyond opcode and PSN. */
export interface Extra {
  /** Default: the peer's queue pair of the first connection. */
  readonly qpn?: number;
  /** Bytes; default a full packet for FIRST and MIDDLE, 100 for others that have any. */
  readonly payload?: number;
  /** Bytes that a READ asks for. */
  readonly length?: number;
  readonly syndrome?: number;
  readonly msn?: number;
  readonly sourceQpn?: number;
  readonly sourcePort?: number;
  readonly trafficClass?: number;
  /** The PSN as it stands on the wire. */
  readonly wirePsn?: number;
  /** It asks for an ACK. Default: it does. */
  readonly asksAck?: boolean;
}

export interface ScriptOptions {
  /** Identifications count, or have no order, or are always the same; or there are none, over IPv6. Default 'count'. */
  readonly ids?: 'count' | 'random' | 'constant' | 'ipv6';
  readonly analyzer?: AnalyzerOptions;
  /** A and B are one host, with one address. */
  readonly withinHost?: boolean;
}

/** A conversation as it is written down. */
export class Script {
  readonly packets: CapturedPacket[] = [];
  /** Of each packet seen, the names of its marks in one line. */
  readonly marks: string[] = [];
  timeNs = 0;
  readonly #options: ScriptOptions;
  readonly #ids = { a: 100, b: 500 };
  readonly #writer = new FrameWriter(1, 8192);
  #interface = 0;

  constructor(options: ScriptOptions = {}) {
    this.#options = options;
  }

  /** A packet that A sends, and that the capture does not see, unless it is given to `see`. */
  fromA(opcode: number, psn: number, extra: Extra = {}): Uint8Array {
    return this.#build('a', opcode, psn, { qpn: B_QPN, ...extra });
  }

  fromB(opcode: number, psn: number, extra: Extra = {}): Uint8Array {
    return this.#build('b', opcode, psn, { qpn: A_QPN, ...extra });
  }

  /** A sends, and it is seen. */
  a(opcode: number, psn: number, extra: Extra = {}): this {
    return this.see(this.fromA(opcode, psn, extra));
  }

  b(opcode: number, psn: number, extra: Extra = {}): this {
    return this.see(this.fromB(opcode, psn, extra));
  }

  ack(psn: number, extra: Extra = {}): this {
    return this.b(Op.Acknowledge, psn, { syndrome: Syndrome.Ack, ...extra });
  }

  nak(psn: number): this {
    return this.b(Op.Acknowledge, psn, { syndrome: Syndrome.NakSequence });
  }

  /** A sends SENDs of one packet with these PSNs. */
  sends(from: number, to: number): this {
    for (let psn = from; psn <= to; psn++) this.a(Op.SendOnly, psn);
    return this;
  }

  /** B answers a READ with these PSNs, which are all of it. */
  answers(from: number, to: number, without: readonly number[] = []): this {
    for (let psn = from; psn <= to; psn++) {
      const only = from === to;
      const opcode = only
        ? Op.ReadResponseOnly
        : psn === from
          ? Op.ReadResponseFirst
          : psn === to
            ? Op.ReadResponseLast
            : Op.ReadResponseMiddle;
      const frame = this.fromB(opcode, psn, { payload: psn === to ? 100 : MTU });
      if (!without.includes(psn)) this.see(frame);
    }
    return this;
  }

  read(psn: number, packets: number): this {
    return this.a(Op.ReadRequest, psn, { length: (packets - 1) * MTU + 100 });
  }

  /** The capture sees a frame, a microsecond after the one before. */
  see(frame: Uint8Array): this {
    this.timeNs += 1000;
    this.packets.push(captured(this.packets.length + 1, this.timeNs, frame, this.#interface));
    return this;
  }

  /** Time passes. */
  wait(ns: number): this {
    this.timeNs += ns;
    return this;
  }

  /** What follows is seen by another interface. */
  on(interfaceIndex: number): this {
    this.#interface = interfaceIndex;
    return this;
  }

  analyze(): Analysis {
    const analyzer = new Analyzer(this.#options.analyzer);
    for (const packet of this.packets) {
      const { marks } = analyzer.packet(packet);
      // Rules have tests of their own.
      this.marks.push(MARK_NAMES.filter((name, bit) => (marks & (1 << bit)) !== 0 && name !== 'violation').join(' '));
    }
    return analyzer.finish();
  }

  #build(host: 'a' | 'b', opcode: number, psn: number, extra: Extra): Uint8Array {
    const { ids = 'count', withinHost = false } = this.#options;
    const flags = OPCODE_FLAGS[opcode] ?? 0;
    const full = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
    const payload = extra.payload ?? ((flags & OpFlag.Payload) === 0 ? 0 : full ? MTU : 100);
    const pad = -payload & 3;
    const template = templateOf(
      withinHost ? 'self' : host,
      ids === 'ipv6',
      extra.sourcePort ?? (host === 'a' ? 0xc0_01 : 0xc0_02),
    );
    const writer = this.#writer;
    writer.reset();
    const id = this.#ids[host]++;
    writer.nextIpId = ids === 'constant' ? 7 : ids === 'random' ? scattered(id) : id;
    const bth = writer.begin(template);
    const wirePsn = extra.wirePsn ?? (FIRST_PSN + psn) & PSN_MASK;
    const asks = extra.asksAck === false ? 0 : 1;
    writeBth(writer.view, bth, opcode, 0, 1, pad, 0xff_ff, extra.qpn ?? 0, asks, wirePsn);
    this.#writeHeaders(bth, opcode, extra);
    const at = bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] ?? 0);
    writer.bytes.fill(0x5a, at, at + payload);
    writer.bytes.fill(0, at + payload, at + payload + pad);
    writer.end(template, at + payload + pad, extra.trafficClass ?? 0);
    return writer.bytes.slice(0, writer.lengths[0] ?? 0);
  }

  #writeHeaders(bth: number, opcode: number, { length = 0, syndrome = Syndrome.Ack, msn = 0, sourceQpn = 0 }: Extra) {
    const { view } = this.#writer;
    const at = (table: Int8Array) => table[opcode] ?? -1;
    if (at(RETH_AT) >= 0) writeReth(view, bth + at(RETH_AT), 0, 0x1000, 7, length);
    if (at(AETH_AT) >= 0) writeAeth(view, bth + at(AETH_AT), syndrome, msn);
    if (at(DETH_AT) >= 0) writeDeth(view, bth + at(DETH_AT), 0x11, sourceQpn);
  }
}

function scattered(id: number): number {
  const mixed = Math.imul(id, 0x9e_3b) & 0xff_ff;
  return (mixed ^ (mixed >> 7)) & 0xff_ff;
}

/** The same frame with a byte of its ICRC turned over. */
export function damaged(frame: Uint8Array): Uint8Array {
  const copy = frame.slice();
  copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 0xff;
  return copy;
}

/** Kinds of events with the relative PSN, the number of packets and the cause: "loss 3", "retransmission 3+4 nak". */
export function eventsOf({ events }: Analysis): string[] {
  return events.map(({ kind, psn, count, cause }) => {
    const relative = psn < 0 ? '' : ` ${((psn - FIRST_PSN) << 8) >> 8}`;
    return `${kind}${relative}${count === 1 ? '' : `+${count}`}${cause === undefined ? '' : ` ${cause}`}`;
  });
}

function templateOf(host: 'a' | 'b' | 'self', ipv6: boolean, sourcePort: number): HeaderTemplate {
  const [one, two] = ipv6 ? ['fd00::a', 'fd00::b'] : ['192.0.2.1', '192.0.2.2'];
  const [a, b] = host === 'a' ? [one, two] : [host === 'b' ? two : one, one];
  return new HeaderTemplate({
    medium: Medium.Ethernet,
    sourceMac: Uint8Array.of(2, 0, 0, 0, 0, host === 'b' ? 2 : 1),
    destMac: Uint8Array.of(2, 0, 0, 0, 0, host === 'a' ? 2 : 1),
    source: IpAddress.parse(a),
    destination: IpAddress.parse(b),
    trafficClass: 0,
    hopLimit: 64,
    flowLabel: 0,
    sourcePort,
  });
}
