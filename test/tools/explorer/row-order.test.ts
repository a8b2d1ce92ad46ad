/**
 * Goal: the list of packets can be sorted by any of its columns, up and down, with ties in the order of the capture,
 * and packets are found in it. Method: the capture with losses, each order held against one made by a plain sort.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { type PacketRow, SORT_COLUMNS, type SortColumn } from '../../../tools/explorer/engine/protocol.ts';
import { RowOrder } from '../../../tools/explorer/engine/row-order.ts';
import { rowOf } from '../../../tools/explorer/engine/rows.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { lossyCapture } from './lossy-capture.ts';

const VALUES: Readonly<Record<SortColumn, (row: PacketRow) => number>> = {
  number: ({ number }) => number,
  time: ({ timeNs }) => timeNs,
  conversation: ({ conversation }) => conversation,
  ends: ({ conversation, sender }) => 2 * conversation + sender,
  length: ({ length }) => length,
  psn: ({ psn }) => psn,
  qp: ({ destQpn }) => destQpn,
  marks: ({ marks }) => marks,
  info: ({ opcode }) => opcode,
};

describe('RowOrder', () => {
  let session: CaptureSession;
  beforeAll(async () => {
    session = new CaptureSession('lossy.pcapng', bytesInMemory(new Uint8Array(await lossyCapture())));
    while (session.work(1000));
  });

  function numbers(column: SortColumn, descending: boolean): number[] {
    const order = new RowOrder(session);
    return Array.from({ length: session.shown }, (_, row) => (order.indexOfRow(row, { column, descending }) ?? -2) + 1);
  }

  it.each(SORT_COLUMNS)('sorts by %s, and finds each packet where it is', (column) => {
    const value = VALUES[column];
    const rows = Array.from({ length: session.table.length }, (_, index) => rowOf(session, index));
    const found = numbers(column, false).map((number) => value(rows[number - 1] as PacketRow));
    expect(found).toEqual(rows.map(value).sort((a, b) => a - b));
    expect(numbers(column, true)).toEqual(numbers(column, false).reverse());
    const order = new RowOrder(session);
    for (const [row, number] of numbers(column, true).entries())
      expect(order.rowOfIndex(number - 1, { column, descending: true })).toBe(row);
  });

  it('keeps the order of the capture among equals', () => {
    const acks = numbers('length', false).filter((number) => rowOf(session, number - 1).length === 62);
    expect(acks.length).toBeGreaterThan(10);
    expect(acks).toEqual([...acks].sort((a, b) => a - b));
  });

  it('sorts what the filter shows, and anew after another filter', () => {
    session.setFilter('nak or rnr');
    while (session.work(1000));
    const some = numbers('length', true);
    expect(some).toHaveLength(session.shown);
    session.setFilter('');
    while (session.work(1000));
    expect(numbers('length', true).length).toBeGreaterThan(some.length);
  });

  it('sorts values that do not fit a number together with an index', () => {
    const { table } = session;
    const own = table.timeNs.slice();
    for (let index = 0; index < table.length; index++) table.timeNs[index] = (index * 7_919_777_777_777) % 9e14;
    const times = numbers('time', false).map((number) => table.timeNs[number - 1] ?? 0);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    table.timeNs.set(own);
  });
});
