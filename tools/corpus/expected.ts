/**
 * What a reader of a capture should find in each packet, as plain data.
 *
 * Owns the vocabulary of the corpus (corpus/capture.schema.json describes it) and the way to it from a dissected
 * packet. Offsets count from the first captured byte. Numbers of more than 32 bits and strings of bytes are hexadecimal
 * text.
 */
import {
  computeIcrc,
  type Frame,
  FrameStatus,
  frameDestination,
  frameSource,
  frameStatusName,
  opcodeInfo,
} from 'rocev2/packets';
import { IP_PROTOCOL_UDP } from 'rocev2/packets/network';
import { type CapturedPacket, Dissection, dissect, IcrcState, icrcState, Tunnel, tunnelName } from 'rocev2/pcap';
import { extendedHeaders } from './expected-headers.ts';
import { madFields } from './expected-mad.ts';
import { hexBytes, type Value } from './hex.ts';

/** What is expected of one packet; which keys are there depends on it. */
export type Expected = Readonly<Record<string, Value>>;

/** Dissects packets one after the other. */
export class Expectations {
  readonly #into = new Dissection();

  /** What is expected of the packet. */
  of(packet: CapturedPacket): Expected {
    const into = this.#into;
    dissect(packet, into);
    const about = packet.comments.join(' ');
    return {
      number: packet.number,
      ...(about === '' ? {} : { about }),
      captured: packet.bytes.length,
      length: packet.originalLength,
      status: statusName(into.status),
      ...(into.cut ? { cut: true } : {}),
      ...tunnelsOf(into),
      ...headersOf(into),
    };
  }
}

/** "BadUdpLength" is "bad-udp-length" here. */
function statusName(status: FrameStatus): string {
  return frameStatusName(status)
    .replace(/(?!^)[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();
}

function tunnelsOf({ tunnels, depth, unreadable }: Dissection): Expected {
  const layers = tunnels.slice(0, depth).map(({ tunnel, id }) => ({
    kind: tunnelName(tunnel),
    ...(id < 0 ? {} : { id }),
  }));
  return {
    ...(depth === 0 ? {} : { tunnels: layers }),
    ...(unreadable === Tunnel.None ? {} : { unreadable: tunnelName(unreadable) }),
  };
}

function headersOf(into: Dissection): Expected {
  const { frame, status, packetOffset } = into;
  if (frame.ipVersion === 0) return {};
  const found = { ...(frame.vlanTci < 0 ? {} : { vlan: vlanOf(frame.vlanTci) }), ip: ipOf(frame, packetOffset) };
  if (frame.protocol !== IP_PROTOCOL_UDP || frame.destPort === 0) return found;
  const at = frame.ipOffset + (frame.ipVersion === 4 ? 20 : 40) - packetOffset;
  const udp = { at, sourcePort: frame.sourcePort, destPort: frame.destPort };
  if (frame.bthOffset < 0) return { ...found, udp };
  const above = status === FrameStatus.Ok ? payloadOf(into) : {};
  return { ...found, udp, bth: bthOf(frame, packetOffset), ...above, icrc: icrcOf(into) };
}

function vlanOf(tci: number): Expected {
  return { priority: tci >>> 13, dei: (tci >>> 12) & 1, id: tci & 0xf_ff };
}

function ipOf(frame: Frame, from: number): Expected {
  const { ipVersion, ipOffset, trafficClass, hopLimit, protocol } = frame;
  const source = frameSource(frame).toString();
  const destination = frameDestination(frame).toString();
  return { at: ipOffset - from, version: ipVersion, source, destination, trafficClass, hopLimit, protocol };
}

function bthOf(frame: Frame, from: number): Expected {
  const { opcode, solicited, migReq, padCount, transportVersion, pkey, fecn, becn, destQpn, ackReq, psn } = frame;
  const name = opcodeInfo(opcode).known ? { name: opcodeInfo(opcode).name } : {};
  return {
    ...{ at: frame.bthOffset - from, opcode, ...name, solicited, migReq, padCount, version: transportVersion },
    ...{ pkey, fecn, becn, destQpn, ackReq, psn },
  };
}

/** All headers of the opcode were captured. */
function payloadOf({ frame, packetOffset, capturedEnd }: Dissection): Expected {
  const { payloadOffset, payloadLength } = frame;
  return {
    ...extendedHeaders(frame),
    ...(payloadOffset + payloadLength <= capturedEnd ? madFields(frame) : {}),
    payload: { at: payloadOffset - packetOffset, length: payloadLength },
  };
}

/** The ICRC covers what an opcode or a version not known here mean: it can be told of every whole BTH. */
function icrcOf(into: Dissection): Expected {
  const { frame, cut, packetOffset } = into;
  const { bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
  const at = icrcOffset - packetOffset;
  if (cut) return { at, right: null };
  const computed = computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset);
  const right = view.getUint32(icrcOffset, true) === computed;
  return {
    at,
    value: hexBytes(bytes.subarray(icrcOffset, icrcOffset + 4)),
    computed: hexBytes(Uint8Array.from([computed, computed >>> 8, computed >>> 16, computed >>> 24])),
    right,
    ...(icrcState(into) === IcrcState.RxeFlush ? { recipe: 'rxe-flush' } : {}),
  };
}
