/**
 * A capture of a wire as this project reads it: which frames are RoCE, and whether their ICRC is right, which tshark
 * does not check.
 */
import { readFileSync } from 'node:fs';
import { type Frame, FrameStatus, Medium } from 'rocev2/packets';
import { CaptureReader, Dissection, dissect, IcrcState, icrcState } from 'rocev2/pcap';

export interface ViewedFrame {
  /** As Wireshark numbers it. */
  readonly number: number;
  readonly kind: 'roce' | 'other' | 'broken';
  /** False for all that is not RoCE. */
  readonly goodIcrc: boolean;
}

/** The frames of a capture; with `at` those seen at one end of a wire, on the interface that is described as it. */
export function viewCapture(path: string, at?: string): ViewedFrame[] {
  const reader = new CaptureReader();
  const dissection = new Dissection();
  const views: ViewedFrame[] = [];
  reader.push(readFileSync(path));
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    const { number, interfaceIndex } = packet;
    const elsewhere = at !== undefined && reader.interfaces[interfaceIndex]?.description !== at;
    const status = dissect(packet, dissection);
    if (!dissection.linkKnown || elsewhere) continue;
    const goodIcrc = icrcState(dissection) === IcrcState.Good;
    if (status === FrameStatus.Ok) views.push({ number, kind: 'roce', goodIcrc });
    else {
      const foreign = status <= FrameStatus.NotRoce || isForeignIpv4(dissection.frame);
      views.push({ number, kind: foreign ? 'other' : 'broken', goodIcrc });
    }
  }
  return views;
}

/** IPv4 that is no UDP, whatever its header: IGMP has options in it (RFC 3376), which no RoCE packet has. */
function isForeignIpv4({ view, start, end, medium }: Frame): boolean {
  const ip = medium === Medium.Ethernet ? start + ETHERNET_HEADER_BYTES : start;
  if (end - ip < IPV4_HEADER_BYTES) return false;
  if (medium === Medium.Ethernet && view.getUint16(ip - 2) !== ETHERTYPE_IPV4) return false;
  return view.getUint8(ip) >> 4 === 4 && view.getUint8(ip + IPV4_PROTOCOL) !== PROTOCOL_UDP;
}

const ETHERNET_HEADER_BYTES = 14;
const IPV4_HEADER_BYTES = 20;
const IPV4_PROTOCOL = 9;
const ETHERTYPE_IPV4 = 0x0800;
const PROTOCOL_UDP = 17;
