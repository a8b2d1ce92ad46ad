/**
 * Goal: a ladder shows every packet, what was lost before it and long silences, in the right direction and with what
 * makes it remarkable. Method: packets made by hand, rows and shapes compared; any packets, for what must hold always.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import { Mark } from '../../../pcap/analysis/facts.ts';
import { type LadderShape, layoutLadder, ROW_HEIGHT, railsOf } from '../../../tools/explorer/ladder/layout.ts';
import { type LadderPacket, ladderRows, lettersOf, toneOf, wordsOf } from '../../../tools/explorer/ladder/rows.ts';
import { ladderSvg } from '../../../tools/explorer/ladder/svg.ts';

function packet(number: number, more: Partial<LadderPacket> = {}): LadderPacket {
  return {
    number,
    timeNs: number * 1000,
    sender: 0,
    opcode: Op.WriteMiddle,
    psn: number,
    syndrome: -1,
    payload: 1024,
    marks: 0,
    missing: 0,
    refersTo: -1,
    ...more,
  };
}

const NAK = packet(3, { sender: 1, opcode: Op.Acknowledge, syndrome: 0x60, payload: 0, marks: Mark.Nak });
const ROOM = { width: 800, originNs: 0 };

function shapesOf(one: LadderPacket): readonly LadderShape[] {
  return layoutLadder([{ kind: 'packet', packet: one }], ROOM)[0]?.shapes ?? [];
}

describe('ladderRows', () => {
  it('puts what was lost before the packet that shows it', () => {
    expect(ladderRows([packet(1), packet(4, { missing: 2 })])).toEqual([
      { kind: 'packet', packet: packet(1) },
      { kind: 'lost', sender: 0, psn: 2, count: 2 },
      { kind: 'packet', packet: packet(4, { missing: 2 }) },
    ]);
  });

  it('writes a silence out that is far longer than usual, and says when a timeout ended it', () => {
    const late = { timeNs: 67_000_000, marks: Mark.AfterTimeout };
    const rows = ladderRows([1, 2, 3, 4].map((number) => packet(number)).concat(packet(5, late)));
    expect(rows.map(({ kind }) => kind)).toEqual(['packet', 'packet', 'packet', 'packet', 'silence', 'packet']);
    expect(rows[4]).toEqual({ kind: 'silence', durationNs: 66_996_000, timeout: true });
    // Where all pauses are long, none is remarkable.
    const slow = [1, 2, 3].map((number) => packet(number, { timeNs: number * 1e8 }));
    expect(ladderRows(slow).every(({ kind }) => kind === 'packet')).toBe(true);
  });

  it('keeps every packet, once and in order', () => {
    const packets = fc.array(
      fc.record({ gap: fc.nat(1e9), missing: fc.nat(3), marks: fc.nat(0xfff), opcode: fc.nat(255) }),
    );
    fc.assert(
      fc.property(packets, (drafts) => {
        let timeNs = 0;
        const all = drafts.map(({ gap, ...more }, index) => {
          timeNs += gap;
          return packet(index + 1, { ...more, timeNs });
        });
        const rows = ladderRows(all);
        expect(rows.flatMap((row) => (row.kind === 'packet' ? [row.packet] : []))).toEqual(all);
        const laid = layoutLadder(rows, ROOM);
        expect(laid.map(({ top }) => top)).toEqual(rows.map((_, index) => index * ROW_HEIGHT));
        // A part is laid out as the same part of the whole.
        expect(layoutLadder(rows.slice(1, 4), ROOM, 1)).toEqual(laid.slice(1, 4));
      }),
    );
  });
});

describe('what a packet is called', () => {
  it.each([
    [packet(7), 'WRITE Middle  psn 7  1024 B', 'request', ''],
    [NAK, 'NAK PSN sequence error  psn 3', 'nak', 'N'],
    [packet(3, { opcode: Op.Acknowledge, syndrome: 0x1f, payload: 0 }), 'ACK  psn 3', 'ack', ''],
    [packet(3, { opcode: Op.ReadResponseFirst, syndrome: 0x1f }), 'READ response First  psn 3  1024 B', 'response', ''],
    [packet(9, { marks: Mark.Retransmission | Mark.AfterTimeout }), 'WRITE Middle  psn 9  1024 B', 'again', 'R T'],
    [packet(9, { marks: Mark.BadIcrc }), 'WRITE Middle  psn 9  1024 B  wrong ICRC', 'bad', '!'],
    [packet(9, { opcode: Op.Cnp, payload: 0 }), 'CNP', 'notice', ''],
    [packet(9, { opcode: 0x64, name: 'CM REQ' }), 'CM REQ', 'request', ''],
    [packet(9, { opcode: 0x1f, payload: 0 }), 'Unknown (0x1f)  psn 9', 'request', ''],
  ])('%#', (one, words, tone, letters) => {
    expect([wordsOf(one), toneOf(one), lettersOf(one)]).toEqual([words, tone, letters]);
  });
});

describe('layoutLadder', () => {
  const { left, right } = railsOf(ROOM.width);

  it('draws an arrow from the sender to the other rail, and a head at its end', () => {
    const [, there, head] = shapesOf(packet(1));
    expect(there).toMatchObject({ kind: 'line', x1: left, x2: right, class: 'arrow request' });
    expect(head).toMatchObject({ kind: 'path', class: 'head request' });
    expect(shapesOf(NAK)[1]).toMatchObject({ x1: right, x2: left, class: 'arrow nak' });
  });

  it('ends the arrow of what never arrived in a cross on its way', () => {
    const lost = layoutLadder([{ kind: 'lost', sender: 0, psn: 5, count: 2 }], ROOM)[0];
    expect(lost?.number).toBe(0);
    expect(lost?.text).toBe('2 lost  psn 5 to 6');
    for (const shapes of [lost?.shapes ?? [], shapesOf(packet(1, { marks: Mark.BadIcrc })).slice(1)]) {
      expect(shapes[0]).toMatchObject({ kind: 'line', x1: left, class: 'arrow bad' });
      expect(shapes[0]?.kind === 'line' && shapes[0].x2).toBeLessThan(right - 100);
      expect(shapes[1]).toMatchObject({ kind: 'path', class: 'cross bad' });
    }
    // A broken rule alone stops nothing.
    expect(shapesOf(packet(1, { marks: Mark.Violation }))[1]).toMatchObject({ x2: right, class: 'arrow bad' });
  });

  it('keeps words inside the rails of a narrow page', () => {
    const narrow = layoutLadder([{ kind: 'packet', packet: NAK }], { width: 390, originNs: 0 })[0];
    const words = narrow?.shapes.find((shape) => shape.kind === 'text' && shape.class.startsWith('words'));
    const room = railsOf(390);
    expect(words?.kind === 'text' && words.text.length * 6).toBeLessThan(room.right - room.left);
    expect(room.right).toBeLessThan(390);
  });
});

describe('ladderSvg', () => {
  it('is one picture with all rows, and escapes what it is given', () => {
    const svg = ladderSvg([packet(1), packet(3, { missing: 1 }), NAK], { left: '<b>&"', right: 'B' });
    expect(svg).toMatch(/^<svg [^>]*viewBox="0 0 760 \d+"/);
    expect(svg).toContain('&#60;b&#62;&#38;&#34;');
    expect(svg).not.toContain('<b>');
    expect(svg.match(/class="arrow /g)).toHaveLength(4);
    expect(svg.match(/class="cross /g)).toHaveLength(1);
    expect(svg).toContain('NAK PSN sequence error');
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    expect(ladderSvg([], { left: 'A', right: 'B' })).not.toMatch(/NaN|undefined|Infinity/);
  });
});
