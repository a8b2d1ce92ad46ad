/**
 * Connects the explorer with the display filter: text in, a test of one packet out.
 *
 * Owns how a row of the table becomes the subject of a filter. Never throws, whatever the text is.
 */

import type { CapturedPacket, Dissection } from 'rocev2/pcap';
import { compileFilter, completeFilter, FilterError } from 'rocev2/pcap/filter';
import type { PacketTable } from './packet-table.ts';
import type { Completion, FilterResult } from './protocol.ts';

/** Whether a packet is to be shown; its number says where it stands in the table. */
export type PacketTest = (packet: CapturedPacket, dissection: Dissection, table: PacketTable) => boolean;

/** A compiled filter text. Without a test everything is shown. */
export function makeFilter(
  text: string,
  interfaceName: (index: number) => string | undefined,
): { readonly test: PacketTest | undefined; readonly fault: FilterResult['fault'] } {
  if (text.trim() === '') return { test: undefined, fault: null };
  try {
    const passes = compileFilter(text);
    const test: PacketTest = (packet, dissection, table) => {
      const index = packet.number - 1;
      const id = table.conversation[index] ?? 0;
      const facts = {
        marks: table.marks[index] ?? 0,
        relativePsn: table.relativePsn[index] ?? Number.NaN,
        conversation: id === 0 ? undefined : { id },
      };
      return passes({ packet, dissection, facts, interfaceName: interfaceName(packet.interfaceIndex) });
    };
    return { test, fault: null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const place = error instanceof FilterError ? error : { column: 1, length: 0 };
    return { test: undefined, fault: { sentence: error.message, column: place.column, length: place.length } };
  }
}

/** Completions at `cursor` of `text`. */
export function completions(text: string, cursor: number): readonly Completion[] {
  if (text.trim() === '') return [];
  return completeFilter(text, cursor, MOST_COMPLETIONS);
}

const MOST_COMPLETIONS = 12;
