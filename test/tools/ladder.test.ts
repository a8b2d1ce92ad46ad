/**
 * Goal: a ladder says what happened and nothing else. Method: steps by hand for the drawing; real frames, made by
 * FrameWriter, for the reader.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  Medium,
  Op,
  Syndrome,
  writeAeth,
  writeBth,
  writeReth,
} from '../../packets/index.ts';
import {
  drawLadder,
  LadderReader,
  type LadderStep,
  LadderStream,
  markName,
  StepMark,
} from '../../tools/ladder/index.ts';

const LAYOUT = { left: 'A', right: 'B' };
const step = (change: Partial<LadderStep> = {}): LadderStep => ({
  timeNs: 0,
  fromLeft: true,
  label: 'SEND Only',
  psn: 7,
  detail: '64 B',
  marks: StepMark.None,
  ...change,
});

describe('drawLadder', () => {
  it('draws nothing for no steps', () => {
    expect(drawLadder([], LAYOUT)).toEqual([]);
  });

  it('draws arrows in both directions, with times from the first step', () => {
    const steps = [step({ timeNs: 5000 }), step({ timeNs: 6234, fromLeft: false, label: 'ACK', detail: '' })];
    expect(drawLadder(steps, { ...LAYOUT, width: 80 })).toEqual([
      '   time us  A                                          B',
      '     0.000  │── SEND Only  psn 7  64 B ───────────────▶│',
      '     1.234  │◀─────────────────────────── ACK  psn 7 ──│',
    ]);
  });

  it('lets a lost frame stop on its way', () => {
    const lost = step({ marks: StepMark.Lost });
    const answer = step({ fromLeft: false, label: 'ACK', detail: '', marks: StepMark.Retransmit | StepMark.Lost });
    expect(drawLadder([lost, answer], { ...LAYOUT, width: 80 }).slice(1)).toEqual([
      '     0.000  │── SEND Only  psn 7  64 B ─────── ✗       │  LOST',
      '     0.000  │            ✗ ────────────── ACK  psn 7 ──│  RETRANSMIT LOST',
    ]);
  });

  it('draws a run of the same by its ends and a count', () => {
    const steps = Array.from({ length: 9 }, (_, psn) => step({ psn, timeNs: psn * 1000, label: 'WRITE Middle' }));
    const lines = drawLadder(steps, LAYOUT);
    expect(lines).toHaveLength(4);
    expect(lines[2]).toContain('7 more WRITE Middle  psn 1 .. 7');
    expect(lines[3]).toContain('psn 8');
  });

  it('draws a run of three in full, and never across a difference in marks', () => {
    const steps = [0, 1, 2, 3, 4, 5].map((psn) => step({ psn, marks: psn < 3 ? StepMark.None : StepMark.Retransmit }));
    expect(drawLadder(steps, LAYOUT)).toHaveLength(7);
  });

  it('adds colour and no width', () => {
    const steps = [
      StepMark.Lost,
      StepMark.Corrupt,
      StepMark.Nak,
      StepMark.Retransmit,
      StepMark.Late,
      StepMark.None,
    ].map((marks) => step({ marks }));
    const plain = drawLadder(steps, LAYOUT);
    const colored = drawLadder(steps, { ...LAYOUT, color: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour is.
    expect(colored.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ''))).toEqual(plain);
    expect(colored.filter((line, index) => line !== plain[index])).toHaveLength(5);
  });

  it('keeps every line within its width, whatever the words are', () => {
    const anyStep = fc.record({
      timeNs: fc.nat(1e9),
      fromLeft: fc.boolean(),
      label: fc.stringMatching(/^[A-Z ]{0,90}$/),
      psn: fc.option(fc.nat(0xff_ff_ff), { nil: undefined }),
      detail: fc.stringMatching(/^[a-z0-9 ]{0,30}$/),
      // Two marks at most: that is what the margin is made for.
      marks: fc.constantFrom(
        0,
        StepMark.Lost,
        StepMark.Retransmit | StepMark.Lost,
        StepMark.Retransmit | StepMark.Corrupt,
      ),
    });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 20 }), fc.integer({ min: 80, max: 140 }), (steps, width) => {
        const lines = drawLadder(steps, { ...LAYOUT, width });
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        // Both rails stand in the same column in every line.
        expect(new Set(lines.slice(1).map((line) => line.lastIndexOf('│'))).size).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('markName', () => {
  it('names every mark', () => {
    expect(markName(StepMark.None)).toBe('');
    expect(markName(StepMark.Retransmit | StepMark.Lost)).toBe('RETRANSMIT LOST');
    expect(Object.values(StepMark).filter((mark) => mark !== 0 && markName(mark) === '')).toEqual([]);
  });
});

const TEMPLATE = new HeaderTemplate({
  medium: Medium.Ip,
  sourceMac: new Uint8Array(6),
  destMac: new Uint8Array(6),
  source: IpAddress.parse('10.0.0.1'),
  destination: IpAddress.parse('10.0.0.2'),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc000,
});

class Wire {
  readonly reader = new LadderReader({ medium: Medium.Ip });
  readonly #writer = new FrameWriter(1, 2048);

  /** Sends a packet with `payload` zero bytes behind its BTH: headers included. */
  send(
    fromLeft: boolean,
    opcode: number,
    qpn: number,
    psn: number,
    payload: number,
    fill?: (at: number) => void,
  ): LadderStep {
    const writer = this.#writer;
    writer.reset();
    const bth = writer.begin(TEMPLATE);
    writeBth(writer.view, bth, opcode, 0, 1, 0, 0xff_ff, qpn, 0, psn & 0xff_ff_ff);
    writer.bytes.fill(0, bth + 12, bth + 12 + payload);
    fill?.(bth + 12);
    writer.end(TEMPLATE, bth + 12 + payload);
    return this.read(fromLeft, writer.bytes, writer.starts[0] ?? 0, (writer.starts[0] ?? 0) + (writer.lengths[0] ?? 0));
  }

  ack(fromLeft: boolean, qpn: number, psn: number, syndrome: number): LadderStep {
    return this.send(fromLeft, Op.Acknowledge, qpn, psn, 4, (at) => writeAeth(this.#writer.view, at, syndrome, 1));
  }

  readRequest(fromLeft: boolean, qpn: number, psn: number, length: number): LadderStep {
    return this.send(fromLeft, Op.ReadRequest, qpn, psn, 16, (at) => writeReth(this.#writer.view, at, 0, 0, 1, length));
  }

  read(fromLeft: boolean, bytes: Uint8Array, start = 0, end = bytes.length, marks = 0): LadderStep {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return this.reader.read({ timeNs: 0, fromLeft, bytes, view, start, end, marks });
  }
}

describe('LadderReader', () => {
  it('counts PSNs from the first one and beyond their wrap', () => {
    const wire = new Wire();
    const psns = [0xff_ff_fe, 0xff_ff_ff, 0, 1].map((psn) => wire.send(true, Op.SendOnly, 0x20, psn, 4).psn);
    expect(psns).toEqual([0, 1, 2, 3]);
    expect(wire.ack(false, 0x10, 1, Syndrome.Ack)).toMatchObject({
      label: 'ACK',
      psn: 3,
      detail: '',
      marks: StepMark.None,
    });
  });

  it('marks what is sent again, and not what is new after it', () => {
    const wire = new Wire();
    const marks = [5, 6, 7, 6, 7, 8].map((psn) => wire.send(true, Op.WriteMiddle, 0x20, psn, 4).marks);
    expect(marks).toEqual([0, 0, 0, StepMark.Retransmit, StepMark.Retransmit, 0]);
  });

  it('marks NAKs and says which', () => {
    const wire = new Wire();
    wire.send(true, Op.SendOnly, 0x20, 5, 4);
    expect(wire.ack(false, 0x10, 6, Syndrome.NakSequence)).toMatchObject({
      label: 'NAK PSN sequence error',
      psn: 1,
      marks: StepMark.Nak,
    });
    expect(wire.ack(false, 0x10, 6, Syndrome.RnrNak | 12)).toMatchObject({
      label: 'RNR NAK 0.64 ms',
      marks: StepMark.Nak,
    });
  });

  it('marks READ responses that come again, and the request for the rest', () => {
    const wire = new Wire();
    expect(wire.readRequest(true, 0x20, 10, 4096)).toMatchObject({ label: 'READ Request', detail: 'requests 4096 B' });
    const first = wire.send(false, Op.ReadResponseFirst, 0x10, 10, 4);
    const missed = wire.send(false, Op.ReadResponseMiddle, 0x10, 11, 4);
    const beyond = wire.send(false, Op.ReadResponseMiddle, 0x10, 12, 4);
    const again = wire.readRequest(true, 0x20, 11, 3072);
    const repeated = wire.send(false, Op.ReadResponseFirst, 0x10, 11, 4);
    const next = wire.readRequest(true, 0x20, 14, 1);
    expect([first, missed, beyond, again, repeated, next].map(({ marks }) => marks)).toEqual([
      0,
      0,
      0,
      StepMark.Retransmit,
      StepMark.Retransmit,
      0,
    ]);
    expect([first, missed, beyond, again, repeated, next].map(({ psn }) => psn)).toEqual([0, 1, 2, 1, 1, 4]);
  });

  it('keeps the PSNs of both directions and of several queue pairs apart', () => {
    const wire = new Wire();
    wire.send(true, Op.SendOnly, 0x20, 1000, 4);
    wire.send(true, Op.SendOnly, 0x21, 500_000, 4);
    wire.send(false, Op.SendOnly, 0x10, 1000, 4);
    expect(wire.send(true, Op.SendOnly, 0x21, 500_001, 4)).toMatchObject({ psn: 1, marks: 0 });
    expect(wire.send(false, Op.SendOnly, 0x10, 1001, 4)).toMatchObject({ psn: 1, marks: 0 });
    expect(wire.ack(false, 0x11, 500_001, Syndrome.Ack).psn).toBe(1);
    expect(wire.ack(false, 0x10, 1000, Syndrome.Ack).psn).toBe(0);
  });

  it('passes on what the wire did', () => {
    const wire = new Wire();
    const { bytes, starts, lengths } = new FrameWriter(1, 64);
    expect(wire.read(true, bytes, starts[0], lengths[0], StepMark.Lost).marks).toBe(StepMark.Lost);
  });

  it('takes any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.boolean(),
        fc.constantFrom(Medium.Ethernet, Medium.Ip),
        (bytes, fromLeft, medium) => {
          const reader = new LadderReader({ medium });
          const view = new DataView(bytes.buffer);
          const read = reader.read({ timeNs: 1, fromLeft, bytes, view, start: 0, end: bytes.length, marks: 0 });
          expect(read.label).not.toBe('');
        },
      ),
    );
  });
});

describe('LadderStream', () => {
  const LABELS = ['SEND Only', 'WRITE Middle', 'ACK'];
  const steps = fc
    .array(fc.tuple(fc.nat(2), fc.boolean(), fc.nat(1)), { maxLength: 40 })
    .map((choices) =>
      choices.map(([label, fromLeft, marks], at) =>
        step({ label: LABELS[label] ?? '', fromLeft, marks, psn: at, timeNs: at * 1000 }),
      ),
    );

  it('draws what drawLadder draws, at any pace', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const stream = new LadderStream({ width: 90 });
        const lines = [...all.flatMap((each) => stream.push(each, 'A', 'B')), ...stream.flush()];
        // Its column of times is wider from the start, for it cannot know what comes.
        const whole = drawLadder(all, { ...LAYOUT, width: 86, originNs: 0 });
        expect(lines.map((line) => line.slice(4))).toEqual(whole);
      }),
    );
  });

  it('draws the first of a run at once, and holds back no more than the rest of it', () => {
    const stream = new LadderStream();
    const middle = (psn: number) => step({ label: 'WRITE Middle', psn });
    expect(stream.push(middle(0), 'A', 'B')).toHaveLength(2);
    expect([1, 2, 3, 4].flatMap((psn) => stream.push(middle(psn), 'A', 'B'))).toEqual([]);
    expect(stream.flush().map((line) => line.replace(/[─▶│]/g, '').trim().replace(/\s+/g, ' '))).toEqual([
      '⋮ 3 more WRITE Middle psn 1 .. 3',
      '0.000 WRITE Middle psn 4 64 B',
    ]);
    expect(stream.flush()).toEqual([]);
    expect(stream.push(middle(5), 'A', 'B')).toHaveLength(1);
  });

  it('puts a heading where other hosts speak, behind what was held back', () => {
    const stream = new LadderStream();
    stream.push(step(), 'A', 'B');
    stream.push(step({ psn: 8 }), 'A', 'B');
    const lines = stream.push(step(), 'A', 'C');
    expect(lines.map((line) => /psn \d+|\S$/.exec(line)?.[0])).toEqual(['psn 8', 'C', 'psn 7']);
  });

  it('has room for what belongs to no hosts', () => {
    const stream = new LadderStream();
    expect(stream.note(1500, 'ARP who has')).toEqual(['         1.500  ·  ARP who has']);
    expect(stream.push(step(), 'A', 'B')).toHaveLength(2);
  });
});
