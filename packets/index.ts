/**
 * Bytes to values and back: every header of RoCEv2 and what surrounds it. Pure; runs in a browser.
 *
 * @module rocev2/packets
 */

export * from './address.ts';
export * from './aeth.ts';
export * from './arp.ts';
export * from './atomic-ack-eth.ts';
export * from './atomic-eth.ts';
export * from './bth.ts';
export * from './checksum.ts';
export * from './cm/index.ts';
export * from './cm-fields.ts';
export * from './cnp.ts';
export * from './crc32.ts';
export * from './defined.ts';
export * from './deth.ts';
export * from './errors.ts';
export * from './ethernet.ts';
export * from './feth.ts';
export * from './field-list.ts';
export type { BitsValue } from './field-map/bits.ts';
export { type MappedField, type MappedHeader, mapFrame } from './field-map.ts';
export * from './flow-label.ts';
export * from './format.ts';
export * from './frame.ts';
export * from './frame-fields.ts';
export * from './frame-writer.ts';
export * from './grh.ts';
export * from './group-record.ts';
export * from './header-template.ts';
export * from './icmp.ts';
export * from './icmpv6-nd.ts';
export * from './icrc.ts';
export * from './ieth.ts';
export * from './igmp.ts';
export * from './imm-dt.ts';
export * from './ipv4.ts';
export * from './ipv6.ts';
export * from './mad.ts';
export * from './mld.ts';
export * from './opcode.ts';
export * from './pfc.ts';
export * from './psn.ts';
export * from './rdeth.ts';
export * from './reth.ts';
export * from './rnr-timer.ts';
export * from './rxe-flush-icrc.ts';
export * from './traffic-class.ts';
export * from './udp.ts';
export * from './vlan.ts';
export * from './xrceth.ts';
