/**
 * Knows a packet again in a capture of another host: a number made of what neither switch nor router changes.
 *
 * The analyzer's own key of frames (`pcap/analysis/paths`) is of the whole packet and of 32 bits: it then compares the
 * bytes. A table has no bytes to compare, and captures of a fleet are often cut after the headers.
 */
import { type Frame, FrameStatus, maskVariantFields } from 'rocev2/packets';

/**
 * FNV-1a of 64 bits, as a signed number, over the headers of a RoCEv2 packet from the IP header to the last one before
 * the payload, with ones in every bit that the ICRC does not cover (traffic class, TTL, flow label, checksums, the
 * byte of FECN and BECN). Undefined where the headers are not whole. A retransmission may have the key of its original.
 */
export function frameKey(status: FrameStatus, frame: Frame): bigint | undefined {
  const { ipOffset, ipVersion, payloadOffset, bytes } = frame;
  if (status !== FrameStatus.Ok) return undefined;
  const length = payloadOffset - ipOffset;
  for (let i = 0; i < length; i++) headers[i] = bytes[ipOffset + i] as number;
  maskVariantFields(headersView, 0, ipVersion);
  let low = BASIS_LOW;
  let high = BASIS_HIGH;
  for (let i = 0; i < length; i++) {
    low = (low ^ (headers[i] as number)) >>> 0;
    // Times 2^40 + 0x1b3, modulo 2^64. The product of the low halves has 41 bits.
    const product = low * PRIME_LOW;
    const carry = Math.floor(product / 0x1_00_00_00_00);
    high = (Math.imul(high, PRIME_LOW) + carry + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  wordView.setUint32(0, high);
  wordView.setUint32(4, low);
  return wordView.getBigInt64(0);
}

/** The longest headers are those of IPv6 and XRC: well below this. */
const headers = new Uint8Array(256);
const headersView = new DataView(headers.buffer);
const wordView = new DataView(new ArrayBuffer(8));
const BASIS_HIGH = 0xcbf2_9ce4;
const BASIS_LOW = 0x8422_2325;
const PRIME_LOW = 0x1b3;
