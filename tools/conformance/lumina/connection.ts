/**
 * One connection of a trace as one of its ends saw it: steps, with PSNs counted from the first of the requester. Owns
 * which packets belong to it and what each of them is. Never judges.
 */
import { OPCODE_FLAGS, Op, OpFlag, psnDiff } from 'rocev2/packets';
import { otherEnd, type Trace, type TracePacket, type TrafficEnd } from './trace.ts';

/** The two ends; one is the requester, the other the responder. */
export interface TrafficConnection {
  /** The end that posts work. */
  readonly requester: TrafficEnd;
  readonly requesterQpn: number;
  readonly responderQpn: number;
  /** First PSN of the requester. */
  readonly firstPsn: number;
  /** Path MTU in bytes. */
  readonly mtu: number;
  /** PSNs that all the work takes. */
  readonly psns: number;
}

export type EndPacketKind = 'request' | 'read-request' | 'response' | 'ack' | 'nak' | 'rnr-nak' | 'other-nak';

/** A packet of the connection at one end. */
export interface EndPacket {
  readonly way: 'sent' | 'got';
  readonly kind: EndPacketKind;
  /** Counted from the connection's first; negative before it. */
  readonly psn: number;
  /** The last PSN that it takes: of a READ request that of its last response. */
  readonly last: number;
  readonly timeNs: number;
  readonly packet: TracePacket;
}

export type TrafficRole = 'requester' | 'responder';
export const endOf = ({ requester }: TrafficConnection, role: TrafficRole): TrafficEnd =>
  role === 'requester' ? requester : otherEnd(requester);

/** What that end sent, and what it got whole, in the order of the wire. */
export function endPackets(trace: Trace, connection: TrafficConnection, role: TrafficRole): EndPacket[] {
  const end = endOf(connection, role);
  return trace.packets
    .filter((packet) => packet.end === end && packet.whole && belongs(packet, connection))
    .map((packet) => stepOf(packet, connection));
}

/** Packets on their way to the responder or back that the bump has taken away or damaged. */
export function lossesOf(trace: Trace, connection: TrafficConnection, sender: TrafficRole): EndPacket[] {
  return trace.injections
    .filter(({ deeds }) => deeds.includes('dropped') || deeds.includes('corrupted'))
    .map(({ packet }) => packet)
    .filter((packet) => packet.end === endOf(connection, sender) && belongs(packet, connection))
    .map((packet) => stepOf(packet, connection));
}

function belongs({ end, way, destQpn, opcode }: TracePacket, connection: TrafficConnection): boolean {
  if (opcode === Op.Cnp) return false;
  const fromRequester = (end === connection.requester) === (way === 'sent');
  return destQpn === (fromRequester ? connection.responderQpn : connection.requesterQpn);
}

function stepOf(packet: TracePacket, { firstPsn, mtu }: TrafficConnection): EndPacket {
  const psn = psnDiff(packet.psn, firstPsn);
  const kind = kindOf(packet);
  const span = kind === 'read-request' ? Math.max(1, Math.ceil((packet.reth?.length ?? 0) / mtu)) : 1;
  return { way: packet.way, kind, psn, last: psn + span - 1, timeNs: packet.timeNs, packet };
}

function kindOf({ opcode, syndrome }: TracePacket): EndPacketKind {
  const flags = OPCODE_FLAGS[opcode] ?? 0;
  if ((flags & OpFlag.Read) !== 0) return 'read-request';
  if ((flags & OpFlag.Request) !== 0) return 'request';
  if ((flags & OpFlag.Ack) === 0) return 'response';
  if (syndrome < 0x20) return 'ack';
  if ((syndrome & 0xe0) === 0x20) return 'rnr-nak';
  return syndrome === 0x60 ? 'nak' : 'other-nak';
}
