/**
 * A capture of a wire as this project reads it: which frames are RoCE, and whether their ICRC is right, which tshark does not say.
 */
import { readFileSync } from 'node:fs';
import { Frame, FrameStatus, icrcMatches, Medium, parseFrame } from '../../packets/index.ts';
import { CaptureReader, mediumOfLinkType } from '../../pcap/index.ts';

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
  const frame = new Frame();
  const views: ViewedFrame[] = [];
  reader.push(readFileSync(path));
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    const { bytes, number, linkType, interfaceIndex } = packet;
    const medium = mediumOfLinkType(linkType);
    const elsewhere = at !== undefined && reader.interfaces[interfaceIndex]?.description !== at;
    if (medium === undefined || elsewhere) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, 0, bytes.length, medium, frame);
    if (status === FrameStatus.Ok) views.push({ number, kind: 'roce', goodIcrc: icrcMatches(frame) });
    else {
      const foreign = status <= FrameStatus.NotRoce || isForeignIpv4(view, medium);
      views.push({ number, kind: foreign ? 'other' : 'broken', goodIcrc: false });
    }
  }
  return views;
}

/** IPv4 that is no UDP, whatever its header: IGMP has options in it (RFC 3376), which no RoCE packet has. */
function isForeignIpv4(view: DataView, medium: Medium): boolean {
  const ip = medium === Medium.Ethernet ? ETHERNET_HEADER_BYTES : 0;
  if (view.byteLength < ip + IPV4_HEADER_BYTES) return false;
  if (medium === Medium.Ethernet && view.getUint16(ip - 2) !== ETHERTYPE_IPV4) return false;
  return view.getUint8(ip) >> 4 === 4 && view.getUint8(ip + IPV4_PROTOCOL) !== PROTOCOL_UDP;
}

const ETHERNET_HEADER_BYTES = 14;
const IPV4_HEADER_BYTES = 20;
const IPV4_PROTOCOL = 9;
const ETHERTYPE_IPV4 = 0x0800;
const PROTOCOL_UDP = 17;
