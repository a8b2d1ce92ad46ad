/**
 * What was seen of the device under test: a packet as a value, and everything below it. Owns the way from a parsed
 * frame to both. Never judges: what a packet must look like is the business of cases and watchers.
 */
import { readAeth } from '../aeth.ts';
import { readAtomicAckEth } from '../atomic-ack-eth.ts';
import { readAtomicEth } from '../atomic-eth.ts';
import { dethQkey, dethSourceQpn } from '../deth.ts';
import { readFeth } from '../feth.ts';
import { type Frame, FrameStatus, frameDestination, frameSource } from '../frame.ts';
import { icrcMatches } from '../icrc.ts';
import { iethRkey } from '../ieth.ts';
import { immDt } from '../imm-dt.ts';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  FETH_AT,
  IETH_AT,
  IMM_AT,
  Op,
  RETH_AT,
  XRCETH_AT,
} from '../opcode.ts';
import { PSN_MASK, psnDiff } from '../psn.ts';
import { readReth } from '../reth.ts';
import { isRxeFlush } from '../rxe-flush-icrc.ts';
import { xrcethXrcSrq } from '../xrceth.ts';
import { describePacket, isResponse, type Packet } from './packet.ts';

/** One RoCE packet of the device under test. */
export interface Sighting {
  /** When it came, on the station's clock, in nanoseconds. */
  readonly timeNs: number;
  /** The frame, whole. */
  readonly bytes: Uint8Array;
  /** Offsets into `bytes`. */
  readonly at: {
    /** Of the IP header. */
    readonly ip: number;
    /** Of the UDP header. */
    readonly udp: number;
    /** Of the BTH. */
    readonly bth: number;
    /** Of the payload; -1 where `wellFormed` is false. */
    readonly payload: number;
    /** Of the ICRC, four bytes before the end of the UDP datagram. */
    readonly icrc: number;
  };
  /** Of its IP header. */
  readonly ip: {
    /** IP version. */
    readonly version: 4 | 6;
    /** Source address. */
    readonly source: string;
    /** Destination address. */
    readonly destination: string;
    /** Traffic class or TOS byte, ECN in its low two bits. */
    readonly trafficClass: number;
    /** Hop limit or TTL. */
    readonly hopLimit: number;
  };
  /** UDP source port. */
  readonly sourcePort: number;
  /** BTH opcode, 8 bits. */
  readonly opcode: number;
  /** As on the wire, 24 bits. */
  readonly psn: number;
  /** Destination queue pair, 24 bits. */
  readonly destQpn: number;
  /** P_Key, 16 bits. */
  readonly pkey: number;
  /** MigReq bit of the BTH. */
  readonly migReq: 0 | 1;
  /** Pad count of the BTH. */
  readonly padCount: number;
  /** FECN bit of the BTH. */
  readonly fecn: 0 | 1;
  /** BECN bit of the BTH. */
  readonly becn: 0 | 1;
  /** Right; or the recipe that rdma_rxe has for a FLUSH of its own (packets/rxe-flush-icrc.ts). */
  readonly icrc: 'good' | 'rxe-flush' | 'bad';
  /** False: the parser found the packet malformed; `packet` then has opcode and PSN only. */
  readonly wellFormed: boolean;
  /** The packet as a value; PSN as on the wire. `relativeTo` makes it relative. */
  readonly packet: Packet;
}

/** Takes a frame apart. `status` is Ok, UnknownOpcode or anything else that parsing found after a whole BTH. */
export function sightingOf(frame: Frame, status: FrameStatus, timeNs: number): Sighting {
  const { start, end, bthOffset } = frame;
  const bytes = frame.bytes.slice(start, end);
  const wellFormed = status === FrameStatus.Ok;
  return {
    timeNs,
    bytes,
    at: {
      ip: frame.ipOffset - start,
      udp: frame.l4Offset - start,
      bth: bthOffset - start,
      payload: frame.payloadOffset < 0 ? -1 : frame.payloadOffset - start,
      icrc: frame.icrcOffset - start,
    },
    ip: {
      version: frame.ipVersion === 6 ? 6 : 4,
      source: frameSource(frame).toString(),
      destination: frameDestination(frame).toString(),
      trafficClass: frame.trafficClass,
      hopLimit: frame.hopLimit,
    },
    sourcePort: frame.sourcePort,
    opcode: frame.opcode,
    psn: frame.psn,
    destQpn: frame.destQpn,
    pkey: frame.pkey,
    migReq: frame.migReq,
    padCount: frame.padCount,
    fecn: frame.fecn,
    becn: frame.becn,
    icrc: icrcOf(frame, status),
    wellFormed,
    packet: wellFormed ? packetOf(frame) : { opcode: frame.opcode, psn: frame.psn },
  };
}

/**
 * The packet with its PSN counted from the first PSN of its direction: answers count from the tester's, requests from
 * the device's.
 */
export function relativeTo(sighting: Sighting, firstPsn: number, dutFirstPsn: number): Packet {
  const { packet } = sighting;
  if (packet.opcode === Op.Cnp) return packet;
  const base = isResponse(packet.opcode) ? firstPsn : dutFirstPsn;
  return { ...packet, psn: psnDiff(packet.psn, base & PSN_MASK) };
}

/** One line of a ladder. */
export const describeSighting = (sighting: Sighting): string =>
  `${describePacket(sighting.packet)}${sighting.icrc === 'bad' ? ' (ICRC wrong)' : ''}`;

/** The value of a well-formed frame, PSN as on the wire. */
export function packetOf(frame: Frame): Packet {
  const { bthOffset: bth, opcode, view, bytes, payloadOffset, payloadLength } = frame;
  const at = (table: Int8Array): number => ((table[opcode] ?? -1) < 0 ? -1 : bth + (table[opcode] ?? 0));
  const packet: { -readonly [K in keyof Packet]: Packet[K] } = {
    opcode,
    psn: frame.psn,
    ackReq: frame.ackReq === 1,
    solicited: frame.solicited === 1,
    payload: bytes.slice(payloadOffset, payloadOffset + payloadLength),
  };
  if (at(RETH_AT) >= 0) {
    const { va, rkey, dmaLength } = readReth(view, at(RETH_AT));
    packet.reth = { va, rkey, length: dmaLength };
  }
  if (at(DETH_AT) >= 0) {
    packet.qkey = dethQkey(view, at(DETH_AT));
    packet.srcQpn = dethSourceQpn(view, at(DETH_AT));
  }
  if (at(XRCETH_AT) >= 0) packet.srqn = xrcethXrcSrq(view, at(XRCETH_AT));
  if (at(ATOMIC_ETH_AT) >= 0) packet.atomic = readAtomicEth(view, at(ATOMIC_ETH_AT));
  if (at(FETH_AT) >= 0) packet.feth = readFeth(view, at(FETH_AT));
  if (at(IMM_AT) >= 0) packet.imm = immDt(view, at(IMM_AT));
  if (at(IETH_AT) >= 0) packet.inv = iethRkey(view, at(IETH_AT));
  if (at(AETH_AT) >= 0) {
    const { syndrome, msn } = readAeth(view, at(AETH_AT));
    packet.syndrome = syndrome;
    packet.msn = msn;
  }
  if (at(ATOMIC_ACK_ETH_AT) >= 0) packet.original = readAtomicAckEth(view, at(ATOMIC_ACK_ETH_AT)).original;
  return packet;
}

function icrcOf(frame: Frame, status: FrameStatus): Sighting['icrc'] {
  if (status !== FrameStatus.Ok && status !== FrameStatus.UnknownOpcode) return 'bad';
  if (icrcMatches(frame)) return 'good';
  return isRxeFlush(frame) ? 'rxe-flush' : 'bad';
}
