/**
 * Rows of the list and packets in full, made when they are asked for.
 *
 * Owns the description of one packet. Keeps nothing.
 */
import { FrameStatus, formatFrame, mapFrame } from 'rocev2/packets';
import { IcrcState, Mark } from 'rocev2/pcap';
import { NONE } from './packet-table.ts';
import type { MappedHeader, PacketDetail, PacketRow, RowWindow } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/** Rows `from` to `from + count` of the filtered list, as many as there are; by default in the order of the capture. */
export function rowWindow(
  session: CaptureSession,
  from: number,
  count: number,
  indexOfRow: (row: number) => number | undefined = (row) => session.indexOfRow(row),
): RowWindow {
  const rows: PacketRow[] = [];
  for (let row = Math.max(0, from); row < from + Math.min(count, MOST_ROWS); row++) {
    const index = indexOfRow(row);
    if (index === undefined) break;
    rows.push(rowOf(session, index));
  }
  return { from: Math.max(0, from), total: session.shown, rows };
}

/** One row. */
export function rowOf(session: CaptureSession, index: number): PacketRow {
  const { table } = session;
  const dissection = session.dissection(index);
  const icrc = table.icrc[index];
  const text = dissection === undefined ? '' : formatFrame(dissection.frame, dissection.status, icrc !== IcrcState.Bad);
  // An IPv6 address may end in colons: the one that ends the addresses follows the second address.
  const arrow = text.indexOf(' > ');
  const colon = arrow < 0 ? -1 : text.indexOf(': ', arrow + 3);
  return {
    number: index + 1,
    timeNs: table.timeNs[index] ?? 0,
    deltaNs: deltaOf(session, index),
    ends: colon < 0 ? '' : text.slice(0, colon),
    info: text.slice(colon < 0 ? 0 : colon + 2),
    length: table.original[index] ?? 0,
    conversation: table.conversation[index] ?? 0,
    marks: table.marks[index] ?? 0,
    relativePsn: table.relativePsn[index] ?? Number.NaN,
    psn: table.opcode[index] === NONE ? -1 : (table.psn[index] ?? 0),
    destQpn: table.opcode[index] === NONE ? -1 : (table.destQpn[index] ?? 0),
    sender: table.sender[index] === 1 ? 1 : 0,
    opcode: table.opcode[index] ?? 0,
    broken: isBroken(table.status[index] ?? 0),
  };
}

function deltaOf(session: CaptureSession, index: number): number {
  const { table } = session;
  const packets = session.packetsOf(table.conversation[index] ?? 0);
  const at = packets.lowerBound(index);
  return at === 0 ? Number.NaN : (table.timeNs[index] ?? 0) - (table.timeNs[packets.at(at - 1)] ?? 0);
}

/** Everything about the packet of a number; null when there is none. */
export function packetDetail(session: CaptureSession, number: number): PacketDetail | null {
  const index = number - 1;
  const packet = session.packet(index);
  const dissection = session.dissection(index);
  if (packet === undefined || dissection === undefined) return null;
  const { frame, status, packetOffset, capturedEnd } = dissection;
  // The frame may begin behind a link header that is no part of it.
  const linkBytes = frame.start - packetOffset;
  const headers = mapFrame(frame, status, capturedEnd - frame.start);
  return {
    row: rowOf(session, index),
    bytes: packet.bytes.slice(),
    original: packet.originalLength,
    headers: linkBytes > 0 ? withLinkHeader(packet.bytes, headers, linkBytes) : headers,
    interfaceName: session.interfaces[packet.interfaceIndex]?.name ?? '',
    comments: packet.comments,
    refersTo: session.table.refersTo[index] ?? -1,
    missing: session.table.missing[index] ?? 0,
    remarks: remarksOf(session, index, dissection.cut),
    findings: findingsOf(session, number),
  };
}

function withLinkHeader(bytes: Uint8Array, headers: readonly MappedHeader[], length: number): readonly MappedHeader[] {
  const value = bytes.slice(0, length);
  const shown = Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const meaning = 'What the capturing host put in the place of a link header.';
  const field = { name: 'sll', bitOffset: 0, bits: 8 * length, value, shown, meaning, rule: 'pcap/types.ts' };
  const link = {
    name: 'Link',
    title: 'Link header of the capture',
    byteOffset: 0,
    byteLength: length,
    fields: [field],
  };
  const moved = headers.map((header) => ({
    ...header,
    byteOffset: header.byteOffset + length,
    fields: header.fields.map((inner) => ({ ...inner, bitOffset: inner.bitOffset + 8 * length })),
  }));
  return [link, ...moved];
}

function findingsOf({ analysis }: CaptureSession, number: number): readonly number[] {
  return (analysis?.findings ?? []).flatMap(({ frames }, index) => (frames.includes(number) ? [index] : []));
}

function remarksOf({ table }: CaptureSession, index: number, cut: boolean): readonly string[] {
  const marks = table.marks[index] ?? 0;
  const refersTo = table.refersTo[index] ?? -1;
  const missing = table.missing[index] ?? 0;
  const remarks = REMARKS.filter(([mark]) => (marks & mark) !== 0).map(([, sentence]) => sentence);
  if (missing > 0) remarks.push(`${missing} ${missing === 1 ? 'packet is' : 'packets are'} missing before it.`);
  if (refersTo > 0) remarks.push(`It refers to packet ${refersTo}.`);
  if (cut) remarks.push('The capture cut it short: what lies behind is not known.');
  if (table.icrc[index] === IcrcState.RxeFlush) remarks.push('Its ICRC is the one that rdma_rxe gives a FLUSH.');
  return remarks;
}

function isBroken(status: number): boolean {
  return status >= FrameStatus.Truncated;
}

/** What a mark says, as a sentence. */
const REMARKS: readonly (readonly [mark: number, sentence: string])[] = [
  [Mark.Retransmission, 'Sent again: its PSN was sent before.'],
  [Mark.Copy, 'The same frame came past before, unchanged.'],
  [Mark.Late, 'It comes after packets that were sent later.'],
  [Mark.Gap, 'Packets before it are missing.'],
  [Mark.Nak, 'A negative acknowledgement.'],
  [Mark.RnrNak, 'The receiver was not ready.'],
  [Mark.ImpliedNak, 'Asks again for what a gap in the responses lacks.'],
  [Mark.AfterTimeout, 'Sent again after a time without a response.'],
  [Mark.GhostAck, 'Acknowledges a PSN that is already acknowledged, or was never sent.'],
  [Mark.BadIcrc, 'Its ICRC is wrong: a receiver drops it in silence.'],
  [Mark.Ce, 'The network has marked it: congestion experienced.'],
  [Mark.Violation, 'It breaks a rule of the protocol.'],
];

/** Rows per request, at most. */
const MOST_ROWS = 500;
