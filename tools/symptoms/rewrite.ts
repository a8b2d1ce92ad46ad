/**
 * Captures changed afterwards: what a middlebox, an anonymiser or another program would have made of the packets.
 *
 * Owns the way through a capture file and the mending of checksums. Never touches what it was given.
 */
import { computeIcrc, Frame, FrameStatus, Medium, parseFrame } from 'rocev2/packets';
import { finishChecksum, IPV4_BYTES, IPV4_CHECKSUM_AT, onesComplementSum } from 'rocev2/packets/network';
import { LinkType, PcapngWriter, readCapture } from 'rocev2/pcap';

/** A packet on its way through `rewriteCapture`. */
export interface RewrittenPacket {
  /** The packet's bytes, a copy: to be changed at will. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Where things are in it; only packets of RoCE come. */
  readonly frame: Frame;
  readonly interfaceIndex: number;
}

/**
 * The capture with `change` done to every RoCEv2 packet. What `change` returns takes the place of the packet; false: it
 * is left out. Times and interfaces stay.
 */
export function rewriteCapture(
  file: Uint8Array,
  change: (packet: RewrittenPacket) => boolean | Uint8Array | undefined,
): Uint8Array {
  const writer = new PcapngWriter({ application: 'roce symptoms' });
  const frame = new Frame();
  let interfaces = 0;
  for (const { bytes: original, seconds, nanoseconds, interfaceIndex, originalLength } of readCapture(file)) {
    while (interfaces <= interfaceIndex)
      writer.addInterface({ name: `if${interfaces++}`, linkType: LinkType.Ethernet });
    const bytes = original.slice();
    const view = new DataView(bytes.buffer);
    const roce = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) === FrameStatus.Ok;
    const changed = roce ? change({ bytes, view, frame, interfaceIndex }) : true;
    if (changed === false) continue;
    const kept = changed instanceof Uint8Array ? changed : bytes;
    const wireLength = originalLength + kept.length - bytes.length;
    writer.packet(interfaceIndex, kept, 0, kept.length, seconds, nanoseconds, { originalLength: wireLength });
  }
  return writer.take();
}

/** Makes the IPv4 header checksum right again. */
export function mendChecksum({ view, frame: { ipVersion, ipOffset } }: HeaderPlace): void {
  if (ipVersion !== 4) return;
  view.setUint16(ipOffset + IPV4_CHECKSUM_AT, 0);
  const sum = onesComplementSum(view, ipOffset, ipOffset + IPV4_BYTES, 0);
  view.setUint16(ipOffset + IPV4_CHECKSUM_AT, finishChecksum(sum));
}

/** Makes the ICRC right again. */
export function mendIcrc({ bytes, view, frame }: Pick<RewrittenPacket, 'bytes' | 'view' | 'frame'>): void {
  const { ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
  view.setUint32(icrcOffset, computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset), true);
}

/** Where an IP header is. */
interface HeaderPlace {
  readonly view: DataView;
  readonly frame: Pick<Frame, 'ipVersion' | 'ipOffset'>;
}
