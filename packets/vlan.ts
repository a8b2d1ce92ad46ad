/**
 * Which VLAN a frame belongs to, before anything else about it is known.
 *
 * Owns the rule of delivery: a host receives the frames of its own VLAN and no others, and a tag with id 0 carries a
 * priority and no VLAN (IEEE 802.1Q, as Linux treats it: linux:vlan_core.c#vlan_do_receive). Never changes a frame.
 */
import { ETHERNET_BYTES, ETHERTYPE_AT, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN, VLAN_TAG_BYTES } from './ethernet.ts';

/** No VLAN: untagged frames, and those with a priority tag. */
export const NO_VLAN = 0;
/** Frames with more than one tag, or a tag of a provider's: they are on their way to a switch, not to a host. */
export const FOREIGN_VLAN = -1;

/**
 * VLAN id of the Ethernet frame in [start, end): 1..4094, NO_VLAN or FOREIGN_VLAN; NO_VLAN for one that ends too early
 * to tell.
 */
export function vlanOfFrame(view: DataView, start: number, end: number): number {
  if (end - start < ETHERNET_BYTES) return NO_VLAN;
  const etherType = view.getUint16(start + ETHERTYPE_AT);
  if (etherType === ETHERTYPE_SERVICE_VLAN) return FOREIGN_VLAN;
  if (etherType !== ETHERTYPE_VLAN || end - start < ETHERNET_BYTES + VLAN_TAG_BYTES) return NO_VLAN;
  const inner = view.getUint16(start + ETHERTYPE_AT + VLAN_TAG_BYTES);
  if (inner === ETHERTYPE_VLAN || inner === ETHERTYPE_SERVICE_VLAN) return FOREIGN_VLAN;
  return view.getUint16(start + ETHERNET_BYTES) & VLAN_ID_MASK;
}

/** Tag control of a VLAN: priority 0..7 in the upper three bits, id 1..4094 in the lower twelve. */
export function vlanTci(id: number, priority: number): number {
  return (priority << 13) | id;
}

const VLAN_ID_MASK = 0x0f_ff;
