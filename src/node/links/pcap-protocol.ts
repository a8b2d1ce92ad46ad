/** Messages between a pcap link and its process, and the frame helpers both need. Neither loads the package here. */

/** From the process to the link. */
export type PcapReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string }
  /** Totals, sent periodically. */
  | { readonly kind: 'counters'; oversize: number; refused: number; receivedOversize: number; dropped: number }
  | { readonly kind: 'ended'; readonly reason: string };

export function isPcapReport(message: unknown): message is PcapReport {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/**
 * Bytes before the IP packet of the frame at `at`: Ethernet header and up to two VLAN tags. The frame may be shorter
 * than that.
 */
export function linkHeaderBytes(bytes: Uint8Array, at: number): number {
  let type = at + TYPE_AT;
  for (let tags = 0; tags < MAX_TAGS && isTag(bytes, type); tags++) type += TAG_BYTES;
  return type - at + TYPE_BYTES;
}

/** 802.1Q and 802.1ad. */
function isTag(bytes: Uint8Array, at: number): boolean {
  const [high, low] = [bytes[at], bytes[at + 1]];
  return (high === 0x81 && low === 0x00) || (high === 0x88 && low === 0xa8);
}

const TYPE_AT = 12;
const TYPE_BYTES = 2;
const TAG_BYTES = 4;
const MAX_TAGS = 2;
