/**
 * Bytes to values and back: every header of RoCEv2, whole frames, addresses, opcodes, ICRC. Pure; runs in a browser.
 * `rocev2/packets/network` has the headers around them, `rocev2/packets/management` the datagrams of connections.
 *
 * @module rocev2/packets
 */

export * from './address.ts';
export * from './aeth.ts';
export * from './atomic-ack-eth.ts';
export * from './atomic-eth.ts';
export * from './bth.ts';
export * from './cnp.ts';
export * from './crc32.ts';
export * from './defined.ts';
export * from './deth.ts';
export * from './errors.ts';
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
export * from './header-template.ts';
export * from './icrc.ts';
export * from './ieth.ts';
export * from './imm-dt.ts';
export * from './opcode.ts';
export * from './psn.ts';
export * from './rdeth.ts';
export * from './reth.ts';
export * from './rnr-timer.ts';
export * from './rxe-flush-icrc.ts';
export * from './traffic-class.ts';
export * from './xrceth.ts';
