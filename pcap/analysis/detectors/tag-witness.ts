/**
 * VLAN tags with which packets that answer others travel: TCP segments with ACK, and the REP and RTU of connection
 * management. Where such packets go both ways between two stations, their tags get through.
 *
 * Owns the bounded memory of them, by interface, sender and receiver. A capture may well show one direction with tags
 * and the other without: a trunk, or a NIC that strips the tags of what it receives.
 */
import { ETHERNET_BYTES } from '../../../packets/ethernet.ts';
import { FrameStatus, Medium } from '../../../packets/frame.ts';
import { IP_PROTOCOL_TCP } from '../../../packets/ipv4.ts';
import { type PacketFacts, Role } from '../facts.ts';

export class TagWitness {
  readonly #vlans = new Map<string, Set<number>>();

  /** Any packet that is no RoCE, or a management datagram. */
  packet(facts: PacketFacts): void {
    const { dissection, packet, role } = facts;
    const { frame } = dissection;
    if (frame.medium !== Medium.Ethernet || frame.end - frame.start < ETHERNET_BYTES) return;
    if (role === Role.Management ? !answersMad(facts) : !answersTcp(facts)) return;
    const { view, start, vlanTci } = frame;
    const key = keyOf(packet.interfaceIndex, stationAt(view, start + 6), stationAt(view, start));
    let vlans = this.#vlans.get(key);
    if (vlans === undefined) {
      if (this.#vlans.size >= MOST_STATIONS) return;
      vlans = new Set();
      this.#vlans.set(key, vlans);
    }
    if (vlans.size < MOST_VLANS) vlans.add(vlanTci < 0 ? 0 : vlanTci & VLAN_ID_MASK);
  }

  /** Whether packets with one of these VLAN ids went from one MAC address to the other. */
  saw(interfaceIndex: number, from: string, to: string, vlans: readonly number[]): boolean {
    const seen = this.#vlans.get(keyOf(interfaceIndex, stationOf(from), stationOf(to)));
    return seen !== undefined && vlans.some((vlan) => seen.has(vlan));
  }
}

/** A segment with ACK answers one of the other end. */
function answersTcp({ dissection: { frame, status } }: PacketFacts): boolean {
  if (status !== FrameStatus.NotUdp || frame.protocol !== IP_PROTOCOL_TCP) return false;
  const { view, l4Offset, ipEnd } = frame;
  return ipEnd - l4Offset > TCP_FLAGS_AT && (view.getUint8(l4Offset + TCP_FLAGS_AT) & TCP_ACK) !== 0;
}

function answersMad({ dissection: { frame } }: PacketFacts): boolean {
  const { view, payloadOffset, payloadLength } = frame;
  if (payloadLength < MAD_ATTRIBUTE_AT + 2) return false;
  const attribute = view.getUint16(payloadOffset + MAD_ATTRIBUTE_AT);
  return attribute === CM_REP || attribute === CM_RTU;
}

function keyOf(interfaceIndex: number, from: number, to: number): string {
  return `${interfaceIndex} ${from} ${to}`;
}

function stationAt(view: DataView, at: number): number {
  return view.getUint16(at) * 0x1_00_00_00_00 + view.getUint32(at + 2);
}

function stationOf(mac: string): number {
  return Number.parseInt(mac.replaceAll(':', ''), 16);
}

const TCP_FLAGS_AT = 13;
const TCP_ACK = 0x10;
const MAD_ATTRIBUTE_AT = 16;
const CM_REP = 0x13;
const CM_RTU = 0x14;
const VLAN_ID_MASK = 0x0f_ff;
const MOST_STATIONS = 1024;
const MOST_VLANS = 4;
