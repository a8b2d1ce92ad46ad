/**
 * Connects the explorer with the display filter: text in, a test of one packet out.
 *
 * Owns how a row of the table becomes the subject of a filter. Never throws, whatever the text is.
 */

import type { FrameStatus } from 'rocev2/packets';
import type { CapturedPacket, Dissection, IcrcState } from 'rocev2/pcap';
import { compileFilter, completeFilter, FilterError, type PacketFilter, PacketOutline } from 'rocev2/pcap/filter';
import { NONE, type PacketTable } from './packet-table.ts';
import type { Completion, FilterResult } from './protocol.ts';

type NameOfInterface = (index: number) => string | undefined;

/** Whether packets of a table are to be shown. */
export class TableFilter {
  readonly #passes: PacketFilter;
  readonly #interfaceName: NameOfInterface;
  readonly #outline = new PacketOutline();

  constructor(passes: PacketFilter, interfaceName: NameOfInterface) {
    this.#passes = passes;
    this.#interfaceName = interfaceName;
  }

  /** Whether it has to see the packets themselves: `passes` then, `passesOutline` otherwise. */
  get needsPacket(): boolean {
    return this.#passes.needsPacket;
  }

  /** By the packet, whose number says where it stands in the table. */
  passes(packet: CapturedPacket, dissection: Dissection, table: PacketTable): boolean {
    const index = packet.number - 1;
    const id = table.conversation[index] ?? 0;
    const facts = {
      marks: table.marks[index] ?? 0,
      relativePsn: table.relativePsn[index] ?? Number.NaN,
      conversation: id === 0 ? undefined : { id },
      icrc: table.icrc[index] as IcrcState,
    };
    return this.#passes({ packet, dissection, facts, interfaceName: this.#interfaceName(packet.interfaceIndex) });
  }

  /** By what the table has of it: nothing is read. */
  passesOutline(table: PacketTable, index: number, comments: readonly string[]): boolean {
    const opcode = table.opcode[index] ?? NONE;
    const syndrome = table.syndrome[index] ?? NONE;
    const interfaceIndex = table.interfaceIndex[index] ?? 0;
    const outline = this.#outline;
    outline.set({
      number: index + 1,
      originalLength: table.original[index] ?? 0,
      interfaceIndex,
      comments,
      status: table.status[index] as FrameStatus,
      ipVersion: table.ipVersion[index] as 0 | 4 | 6,
      trafficClass: table.trafficClass[index] ?? 0,
      opcode: opcode === NONE ? -1 : opcode,
      psn: table.psn[index] ?? 0,
      destQpn: table.destQpn[index] ?? 0,
      syndrome: syndrome === NONE ? -1 : syndrome,
      payloadLength: table.payload[index] ?? 0,
      marks: table.marks[index] ?? 0,
      relativePsn: table.relativePsn[index] ?? Number.NaN,
      conversation: table.conversation[index] ?? 0,
      icrc: table.icrc[index] as IcrcState,
    });
    outline.interfaceName = this.#interfaceName(interfaceIndex);
    return this.#passes(outline);
  }
}

/** A compiled filter text. Without a filter everything is shown. */
export function makeFilter(
  text: string,
  interfaceName: NameOfInterface,
): { readonly filter: TableFilter | undefined; readonly fault: FilterResult['fault'] } {
  if (text.trim() === '') return { filter: undefined, fault: null };
  try {
    return { filter: new TableFilter(compileFilter(text), interfaceName), fault: null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const place = error instanceof FilterError ? error : { column: 1, length: 0 };
    return { filter: undefined, fault: { sentence: error.message, column: place.column, length: place.length } };
  }
}

/** Completions at `cursor` of `text`. */
export function completions(text: string, cursor: number): readonly Completion[] {
  if (text.trim() === '') return [];
  return completeFilter(text, cursor, MOST_COMPLETIONS);
}

const MOST_COMPLETIONS = 12;
