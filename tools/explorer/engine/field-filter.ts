/**
 * The filter that a field of a packet is an example of: "infiniband.bth.psn == 5".
 *
 * Owns how a shown value is written in the language of filters. A filter that does not let its own packet pass is not
 * given: names of fields that the language lacks, and values that are too long, have none.
 */
import type { MappedField } from 'rocev2/packets';
import { makeFilter } from './filter.ts';
import { packetDetail } from './rows.ts';
import type { CaptureSession } from './session.ts';

/** The filter of the field of this index among all of the packet; empty where there is none. */
export function fieldFilter(session: CaptureSession, number: number, field: number): string {
  const fields = packetDetail(session, number)?.headers.flatMap((header) => header.fields) ?? [];
  const found = fields[field];
  if (found === undefined) return '';
  return (
    valuesOf(found)
      .map((value) => `${found.name} == ${value}`)
      .find((text) => passes(session, number - 1, text)) ?? ''
  );
}

/** As it is shown, as a number, and as bytes with colons. */
function valuesOf({ shown, value, bits }: MappedField): string[] {
  const bytes = typeof value === 'object' && value instanceof Uint8Array ? value : undefined;
  const digits = shown.split(' ');
  const hex = digits.every((byte) => /^[0-9a-f]{2}$/.test(byte)) && bits === 8 * digits.length;
  return [
    ...(shown === '' || shown.includes(' ') ? [] : [shown]),
    ...(hex ? [digits.join(':'), `0x${digits.join('')}`] : []),
    ...(bytes === undefined ? [] : [Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':')]),
  ];
}

function passes(session: CaptureSession, index: number, text: string): boolean {
  const { filter } = makeFilter(text, (at) => session.interfaces[at]?.name);
  const packet = session.packet(index);
  const dissection = session.dissection(index);
  if (filter === undefined || packet === undefined || dissection === undefined) return false;
  return filter.passes(packet, dissection, session.table);
}
