/**
 * Reads the fields of a frame that forwarding needs: the host it is for and its priority. Once, where it enters. Owns
 * no state but the answer. Safe for any bytes: an unknown format has no destination.
 * Priority: the PCP of a VLAN tag, and without one the upper three bits of the DSCP (26 is priority 3, 48 is 6;
 * ref:dcqcn#2).
 */
import { ETHERTYPE_AT, ETHERTYPE_IPV4, ETHERTYPE_VLAN, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import { hostMac, hostOf } from '../topology/index.ts';

/** What `classify` found. Shared: valid until its next call. */
export const LABEL = { host: 0, priority: 0, ipOffset: 0 };

/** Looks at the frame in [start, end); false when it is not IPv4 to one of `hostCount` hosts. */
export function classify(view: DataView, start: number, end: number, hostCount: number): boolean {
  if (end - start < MIN_BYTES) return false;
  let at = start + ETHERTYPE_AT;
  let etherType = view.getUint16(at);
  let priority = -1;
  if (etherType === ETHERTYPE_VLAN) {
    priority = view.getUint8(at + 2) >>> PCP_SHIFT;
    at += VLAN_TAG_BYTES;
    etherType = view.getUint16(at);
  }
  const ip = at + ETHERTYPE_BYTES;
  if (etherType !== ETHERTYPE_IPV4 || view.getUint8(ip) >>> 4 !== 4) return false;
  // Ports lie behind the header: ways are chosen by them.
  if (ip + ((view.getUint8(ip) & 0xf) << 2) + PORT_BYTES > end) return false;
  const host = hostOf(view, ip);
  if (!(host >= 0 && host < hostCount)) return false;
  LABEL.host = host;
  LABEL.priority = priority >= 0 ? priority : view.getUint8(ip + TOS_AT) >>> CLASS_SHIFT;
  LABEL.ipOffset = ip - start;
  return true;
}

/** Addresses a frame to a host, as the last router on its way would. */
export function stampMac(view: DataView, start: number, host: number): void {
  view.setUint16(start, MAC_HIGH);
  view.setUint32(start + 2, MAC_LOW + host);
}

const FIRST_MAC = hostMac(0);
const FIRST_MAC_VIEW = new DataView(FIRST_MAC.buffer, FIRST_MAC.byteOffset);
const MAC_HIGH = FIRST_MAC_VIEW.getUint16(0);
const MAC_LOW = FIRST_MAC_VIEW.getUint32(2);
const ETHERTYPE_BYTES = 2;
const PCP_SHIFT = 5;
const TOS_AT = 1;
const CLASS_SHIFT = 5;
const PORT_BYTES = 4;
/** Ethernet with a tag, and IPv4. */
const MIN_BYTES = 14 + 4 + 20;
