/**
 * The same capture from senders that number their IPv4 packets in another way.
 *
 * Owns the ways. The stack counts; others send 0, or numbers without order (ref:rxe#5). A doubled frame stays one.
 */
import { computeIcrc, Frame, FrameStatus, Medium, parseFrame } from 'rocev2/packets';
import { IPV4_CHECKSUM_AT, IPV4_ID_AT, ipv4HeaderChecksum } from 'rocev2/packets/network';
import type { CapturedPacket } from 'rocev2/pcap';

/** A capture over IPv4 with other identifications. */
export function renumbered(packets: readonly CapturedPacket[], as: 'zero' | 'random'): CapturedPacket[] {
  return packets.map((packet) => ({ ...packet, bytes: withId(packet.bytes, as) }));
}

function withId(from: Uint8Array, as: 'zero' | 'random'): Uint8Array {
  const bytes = from.slice();
  const view = new DataView(bytes.buffer);
  const frame = new Frame();
  if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) return bytes;
  const { ipOffset, bthOffset, icrcOffset } = frame;
  const id = view.getUint16(ipOffset + IPV4_ID_AT);
  view.setUint16(ipOffset + IPV4_ID_AT, as === 'zero' ? 0 : scattered(id));
  view.setUint16(ipOffset + IPV4_CHECKSUM_AT, 0);
  view.setUint16(ipOffset + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(view, ipOffset));
  view.setUint32(icrcOffset, computeIcrc(bytes, view, ipOffset, 4, bthOffset, icrcOffset), true);
  return bytes;
}

/** Another number for each number, without order. */
function scattered(id: number): number {
  let mixed = (id * 0x9e_3b) & 0xff_ff;
  mixed ^= mixed >>> 7;
  return (mixed * 0x5b_d5) & 0xff_ff;
}
