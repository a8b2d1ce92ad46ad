/**
 * A capture as a picture: the ladder of the packets that prove a finding, with those around them.
 *
 * Owns the choice of packets. Frames that are not RoCE are named as in `roce dump`. Pure: bytes in, SVG out.
 */

import {
  AETH_AT,
  aethSyndrome,
  FrameStatus,
  formatFrame,
  formatMac,
  frameDestination,
  frameSource,
} from 'rocev2/packets';
import { describeCmMad } from 'rocev2/packets/management';
import { ETHERNET_BYTES, readEthernet } from 'rocev2/packets/network';
import { type Analysis, Analyzer, Dissection, dissect, type PacketFacts, Role, readCapture } from 'rocev2/pcap';
import { type LadderPacket, ladderSvg } from '../explorer/ladder/index.ts';

/** The result of the analysis, and every packet as a ladder row. */
export interface Drawn {
  readonly analysis: Analysis;
  readonly packets: readonly LadderPacket[];
  /** The hosts on the left and on the right. */
  readonly left: string;
  readonly right: string;
}

/** Looks at a capture. */
export function draw(capture: Uint8Array): Drawn {
  const analyzer = new Analyzer();
  const packets: LadderPacket[] = [];
  const ends = endsOf(capture);
  for (const packet of readCapture(capture)) {
    const facts = analyzer.packet(packet);
    packets.push(ladderPacket(facts, sourceOf(facts.dissection) === ends.leftMac ? 0 : 1));
  }
  return { analysis: analyzer.finish(), packets, left: ends.left, right: ends.right };
}

/** The packets around those that prove the finding `id`, as an SVG file. */
export function pictureOf({ analysis, packets, left, right }: Drawn, id: string): string {
  const finding = analysis.findings.find((each) => each.id === id);
  const proof = finding?.frames ?? [];
  const near = packets.filter(({ number }) => proof.some((frame) => Math.abs(frame - number) <= AROUND));
  const title = finding?.text ?? `Packets between ${left} and ${right}`;
  return ladderSvg(near.slice(0, MOST_PACKETS), { left, right, title });
}

/** Those of the first RoCE packet: its sender is on the left. */
function endsOf(capture: Uint8Array): { left: string; right: string; leftMac: string } {
  const dissection = new Dissection();
  for (const packet of readCapture(capture)) {
    if (dissect(packet, dissection) !== FrameStatus.Ok) continue;
    const { frame } = dissection;
    return {
      left: frameSource(frame).toString(),
      right: frameDestination(frame).toString(),
      leftMac: sourceOf(dissection),
    };
  }
  return { left: '', right: '', leftMac: '' };
}

/** MAC address of the sender. */
function sourceOf({ frame }: Dissection): string {
  return frame.end - frame.start < ETHERNET_BYTES ? '' : formatMac(readEthernet(frame.view, frame.start).sourceMac);
}

function ladderPacket(facts: PacketFacts, sender: 0 | 1): LadderPacket {
  const { frame, status } = facts.dissection;
  const aethAt = status === FrameStatus.Ok ? (AETH_AT[frame.opcode] ?? -1) : -1;
  return {
    number: facts.packet.number,
    timeNs: facts.timeNs,
    sender,
    opcode: frame.opcode,
    psn: Number.isNaN(facts.relativePsn) ? frame.psn : facts.relativePsn,
    syndrome: aethAt < 0 ? -1 : aethSyndrome(frame.view, frame.bthOffset + aethAt),
    payload: frame.payloadLength,
    marks: facts.marks,
    missing: facts.missing,
    refersTo: facts.refersTo,
    ...(status === FrameStatus.Ok && facts.role !== Role.Management ? {} : { name: nameOf(facts) }),
  };
}

/** For packets without a meaningful opcode. */
function nameOf({ dissection: { frame, status }, role }: PacketFacts): string {
  const cm = role === Role.Management ? describeCmMad(frame.view, frame.payloadOffset, frame.payloadLength) : undefined;
  const words = cm ?? formatFrame(frame, status, true).replace(/^\S+ > \S+:? /, '');
  return words.length <= LONGEST_NAME ? words : `${words.slice(0, LONGEST_NAME - 1)}…`;
}

const AROUND = 2;
const MOST_PACKETS = 24;
const LONGEST_NAME = 56;
