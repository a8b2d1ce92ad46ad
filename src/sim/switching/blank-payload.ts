/**
 * Frames of a network that carries no payload: which of them may be cut to their headers, and how a cut one is made
 * whole again for an observer. Owns the memory for that.
 */
import { BTH_BYTES } from '../../../packets/bth.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES, IPV4_PROTOCOL_AT } from '../../../packets/ipv4.ts';
import { SERVICE_MASK, Service } from '../../../packets/opcode.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT } from '../../../packets/udp.ts';

/** What is kept of a frame: more than link header, IP, UDP, BTH and the longest headers behind it take. */
export const KEPT_BYTES = 128;

/** Whether the frame whose IPv4 header is at `ip` is of a reliable connection: what follows its headers is data. */
export function isCuttable(view: DataView, ip: number, end: number): boolean {
  const udp = ip + IPV4_BYTES;
  if (end - udp < UDP_BYTES + BTH_BYTES || view.getUint8(ip + IPV4_PROTOCOL_AT) !== IP_PROTOCOL_UDP) return false;
  if (view.getUint16(udp + UDP_DEST_PORT_AT) !== ROCE_UDP_PORT) return false;
  return (view.getUint8(udp + UDP_BYTES) & SERVICE_MASK) === Service.Rc;
}

/** A frame that was cut, with its payload of zeros. */
export class WholeFrame {
  readonly bytes: Uint8Array;
  readonly view: DataView;

  /** Room for frames of up to so many bytes. */
  constructor(frameBytes: number) {
    this.bytes = new Uint8Array(frameBytes);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes this the frame of which the first bytes are at `start`. Its ICRC is 0. */
  restore(bytes: Uint8Array, start: number, length: number): this {
    this.bytes.set(bytes.subarray(start, start + KEPT_BYTES));
    this.bytes.fill(0, KEPT_BYTES, length);
    return this;
  }
}
