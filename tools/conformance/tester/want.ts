/** What a script wants to see: fields of a packet that must match, the others may be anything. */
import { describePacket, type Packet } from 'rocev2/packets/kit';

/**
 * Fields that must be equal; a syndrome of ACK type stands for any of that type, since credits are the device's own
 * choice.
 */
export type WantedFields = Partial<Packet>;
/** One of several is as good. */
export type Want = WantedFields | readonly WantedFields[];

/** Whether `packet` is what is wanted. */
export function matches(packet: Packet, want: Want): boolean {
  if (isList(want)) return want.some((one) => matches(packet, one));
  return (Object.keys(want) as (keyof Packet)[]).every((name) => {
    const wanted = want[name];
    if (wanted === undefined) return true;
    if (name === 'syndrome' && isAckType(wanted) && isAckType(packet.syndrome)) return true;
    return same(packet[name], wanted);
  });
}

/** In words. */
export function describeWant(want: Want): string {
  if (isList(want)) return want.map(describeWant).join(' or ');
  const { opcode, psn } = want;
  if (opcode === undefined || psn === undefined) {
    const words = Object.entries(want).map(([name, value]) => `${name} ${text(value)}`);
    return `a packet with ${words.join(', ')}`;
  }
  return describePacket({ ...want, opcode, psn });
}

const isList = (want: Want): want is readonly WantedFields[] => Array.isArray(want);

const isAckType = (syndrome: unknown): boolean => typeof syndrome === 'number' && syndrome < 0x20;

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array)
    return a.length === b.length && a.every((byte, i) => byte === b[i]);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return (a ?? false) === (b ?? false);
  return Object.entries(b).every(([name, value]) => same((a as Record<string, unknown>)[name], value));
}

function text(value: unknown): string {
  if (value instanceof Uint8Array) return `of ${value.length} bytes`;
  if (typeof value === 'number') return value > 9 ? `0x${value.toString(16)}` : String(value);
  return typeof value === 'object'
    ? JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v))
    : String(value);
}
