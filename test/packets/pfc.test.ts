// Goal: a pause frame is what switches send, byte for byte, reads back, and any other bytes are none.
// Method: bytes put together by hand from the vendors' tables, properties, and tshark as the judge of what we write.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parseMac } from '../../packets/address.ts';
import { isPfc, PFC_FRAME_BYTES, pfcEnableVector, pfcQuanta, readPfc, writePfc } from '../../packets/pfc.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { LinkType } from '../../pcap/types.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { describeWith } from '../support/need.ts';
import { exactView, fromHex, toHex, viewOf, written } from './support.ts';

const SOURCE = '52:54:00:00:00:07';
/** Priorities 3 and 4: the longest pause and none. */
const GOLDEN = `0180c2000001 525400000007 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000 ${'00'.repeat(26)}`;
const HEADER_BYTES = 34;

const mac = fc.uint8Array({ minLength: 6, maxLength: 6 });
const vector = fc.integer({ min: 0, max: 0xff });
const times = fc.array(fc.integer({ min: 0, max: 0xff_ff }), { minLength: 8, maxLength: 8 });

describe('a priority flow control frame', () => {
  it('is written as the tables of the vendors say, every byte, and nothing around it', () => {
    const quanta = [0, 0, 0, 0xff_ff, 0, 0, 0, 0];
    const hex = written(PFC_FRAME_BYTES, (view, at) => {
      expect(writePfc(view, at, parseMac(SOURCE), 0b1_1000, quanta)).toBe(60);
    });
    expect(hex).toBe(toHex(fromHex(GOLDEN)));
  });

  it('is read back, as a record and field by field', () => {
    const view = exactView(fromHex(GOLDEN));
    expect(readPfc(view, 0, view.byteLength)).toEqual({
      sourceMac: parseMac(SOURCE),
      enableVector: 0b1_1000,
      quanta: [0, 0, 0, 0xff_ff, 0, 0, 0, 0],
    });
    expect([pfcEnableVector(view, 0), pfcQuanta(view, 0, 3), pfcQuanta(view, 0, 4)]).toEqual([0x18, 0xff_ff, 0]);
  });

  it('has 0 for a pause time that is missing, and no more than eight bits of classes', () => {
    const bytes = new Uint8Array(PFC_FRAME_BYTES).fill(0xa5);
    writePfc(viewOf(bytes), 0, parseMac(SOURCE), 0xf_ff, [7]);
    expect(readPfc(viewOf(bytes), 0, 60)).toMatchObject({ enableVector: 0xff, quanta: [7, 0, 0, 0, 0, 0, 0, 0] });
    expect(toHex(bytes.subarray(16, 18))).toBe('00ff');
  });

  it('may lack padding, but no byte of what counts', () => {
    const whole = fromHex(GOLDEN);
    for (let length = 0; length <= PFC_FRAME_BYTES; length++) {
      const view = exactView(whole.slice(0, length));
      expect(isPfc(view, 0, length)).toBe(length >= HEADER_BYTES);
      expect(readPfc(view, 0, length) !== undefined).toBe(length >= HEADER_BYTES);
    }
  });

  it.each([
    ['another destination', 5],
    ['another EtherType', 13],
    ['another opcode: an 802.3x pause for all has 0x0001', 14],
  ])('is not one with %s', (_, at) => {
    const bytes = fromHex(GOLDEN);
    bytes[at] = 0;
    expect(isPfc(viewOf(bytes), 0, bytes.length)).toBe(false);
    expect(readPfc(viewOf(bytes), 0, bytes.length)).toBeUndefined();
  });

  it('comes back as it was written, for all values and at any offset', () => {
    fc.assert(
      fc.property(mac, vector, times, fc.nat({ max: 9 }), (sourceMac, enableVector, quanta, at) => {
        const bytes = new Uint8Array(at + PFC_FRAME_BYTES).fill(0xa5);
        writePfc(viewOf(bytes), at, sourceMac, enableVector, quanta);
        expect(readPfc(viewOf(bytes), at, bytes.length)).toEqual({ sourceMac, enableVector, quanta });
      }),
    );
  });

  it('is read from any bytes without an error and without a look outside them', () => {
    const noise = fc.uint8Array({ maxLength: 64 });
    const begun = fc
      .uint8Array({ maxLength: 50 })
      .map((rest) => Uint8Array.from([...fromHex(GOLDEN).slice(0, 16), ...rest]));
    fc.assert(
      fc.property(fc.oneof(noise, begun), (bytes) => {
        const read = readPfc(exactView(bytes), 0, bytes.length);
        expect(read !== undefined).toBe(isPfc(exactView(bytes), 0, bytes.length));
      }),
    );
  });
});

describeWith('tshark', 'a priority flow control frame, for tshark', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-pfc-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  it('has the classes and times that were written, and nothing to complain about', async () => {
    const frames = [
      { enableVector: 0b1000, quanta: [0, 0, 0, 0xff_ff, 0, 0, 0, 0] },
      { enableVector: 0b1000, quanta: [0, 0, 0, 0, 0, 0, 0, 0] },
      { enableVector: 0b1100_0001, quanta: [1, 2, 3, 4, 5, 6, 7, 0x80_00] },
    ];
    const writer = new PcapWriter(LinkType.Ethernet);
    for (const { enableVector, quanta } of frames) {
      const bytes = new Uint8Array(PFC_FRAME_BYTES);
      writePfc(viewOf(bytes), 0, parseMac(SOURCE), enableVector, quanta);
      writer.packet(bytes, 0, bytes.length, 0, 0);
    }
    const file = join(scratch, 'pfc.pcap');
    writeFileSync(file, writer.take());
    const timeFields = [0, 1, 2, 3, 4, 5, 6, 7].map((priority) => `macc.cbfc.pause_time.c${priority}`);
    const fields = ['eth.dst', 'eth.src', 'macc.opcode', 'macc.cbfc.enbv', ...timeFields, '_ws.expert.message'];
    const rows = await tsharkRows(file, fields);
    expect(rows.map((row) => [...row.values()].map((values) => values.join('|')))).toEqual(
      frames.map(({ enableVector, quanta }) => [
        '01:80:c2:00:00:01',
        SOURCE,
        '0x0101',
        `0x${enableVector.toString(16).padStart(4, '0')}`,
        ...quanta.map(String),
        '',
      ]),
    );
  });
});
