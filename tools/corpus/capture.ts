/**
 * What a capture of the corpus is before it is a file.
 *
 * Owns the shape of an entry and the writing of vectors: packets one after the other, each with a comment that says
 * what it is. Nothing depends on what was built before, so the same program writes the same bytes.
 */
import { IpAddress as Ip, Medium, type PathSpec } from 'rocev2/packets';
import { buildFrame, type Draft, type Packet } from 'rocev2/packets/kit';
import { LinkType, PcapngWriter } from 'rocev2/pcap';

/** A capture of the corpus. */
export interface CorpusCapture {
  /** Below the folder of the corpus, with its extension: "opcodes/rc-ipv4.pcapng". */
  readonly file: string;
  /** What is in it and what it is for, a sentence or two. */
  readonly about: string;
  /** Whether it is traffic of which a verdict makes sense; single packets beside each other are none. */
  readonly traffic: boolean;
  /** The file. */
  readonly bytes: Uint8Array;
}

/** One packet of a file of vectors. */
export interface Vector {
  /** What is remarkable in it; the comment of the packet. */
  readonly about: string;
  /** As captured. */
  readonly bytes: Uint8Array;
  /** On the wire; default all of `bytes`. */
  readonly originalLength?: number;
}

/** A pcapng file of single packets, a millisecond apart. */
export function vectorFile(
  file: string,
  about: string,
  vectors: readonly Vector[],
  linkType: number = LinkType.Ethernet,
): CorpusCapture {
  const writer = new PcapngWriter({ application: 'rocev2 corpus', comment: about });
  const wire = writer.addInterface({ name: 'vectors', linkType });
  for (const [i, { about: comment, bytes, originalLength = bytes.length }] of vectors.entries()) {
    const nanoseconds = i * 1_000_000;
    writer.packet(wire, bytes, 0, bytes.length, EPOCH_SECONDS, nanoseconds, { comments: [comment], originalLength });
  }
  return { file, about, traffic: false, bytes: writer.take() };
}

/** The way of all vectors over this IP version. */
export function route(ipVersion: 4 | 6, more: Partial<PathSpec> = {}): PathSpec {
  const source = Ip.parse(ipVersion === 4 ? '192.0.2.1' : '2001:db8::1');
  const destination = Ip.parse(ipVersion === 4 ? '192.0.2.2' : '2001:db8::2');
  return { ...BELOW, source, destination, ...more };
}

/** A frame to queue pair 0x000012; `ipId` is its IPv4 identification. */
export function frame(packet: Packet, path: PathSpec, ipId = 1): Uint8Array {
  const edit = (draft: Draft): Uint8Array | undefined => {
    if (path.source.version === 4) draft.view.setUint16(draft.ip + IP_ID_AT, ipId);
    return packet.edit?.(draft);
  };
  return buildFrame({ ...packet, edit }, path, 0x12, 0);
}

/** 2026-01-01. */
const EPOCH_SECONDS = 1_767_225_600;
const IP_ID_AT = 4;
const BELOW = {
  medium: Medium.Ethernet,
  sourceMac: Uint8Array.of(2, 0, 0, 0, 0, 1),
  destMac: Uint8Array.of(2, 0, 0, 0, 0, 2),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc0_01,
};
