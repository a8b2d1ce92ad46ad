/**
 * Goal: `roce dump` keeps what passes the filter and prints it in the form asked for, and what comes live is out in the
 * turn in which it came. Method: dumpFrames with captures and streams in memory; the command line itself is tried in
 * dump.test.ts and dump-pipe.test.ts.
 */
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeIcrc } from '../../packets/icrc.ts';
import { compileFilter } from '../../pcap/filter/index.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { type CapturedPacket, LinkType } from '../../pcap/types.ts';
import { type CaptureSource, type DumpOptions, dumpFrames, FileSource } from '../../tools/dump/index.ts';
import { make } from '../packets/made-frames.ts';
import { chunksOf, Sink } from '../support/sink.ts';

const SAMPLE = readFileSync(fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url)));

const BTH_AT = 14 + 20 + 8;

const fileOf = (bytes: Uint8Array = SAMPLE): FileSource => new FileSource(chunksOf(bytes));

async function dump(options: DumpOptions, source: CaptureSource = fileOf()): Promise<string[]> {
  const sink = new Sink();
  await dumpFrames(source, options, sink);
  return sink.lines;
}

/** Frames of a WRITE, of which the second comes twice. */
function writeWithRepetition(): Uint8Array {
  const writer = new PcapngWriter({ application: 'test', comment: 'on purpose' });
  const wire = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
  const psns = [5, 6, 6, 7];
  psns.forEach((psn, at) => {
    const bytes = make([0x06, 0x07, 0x07, 0x08][at] ?? 0, () => {}, {}, 1024);
    const view = new DataView(bytes.buffer);
    view.setUint32(BTH_AT + 8, psn);
    view.setUint32(bytes.length - 4, computeIcrc(bytes, view, 14, 4, BTH_AT, bytes.length - 4), true);
    writer.packet(wire, bytes, 0, bytes.length, 10, at * 1000, { comments: at === 2 ? ['again'] : [] });
  });
  return writer.take();
}

describe('a filter', () => {
  it('lets through what it matches, and counts only that', async () => {
    const lines = await dump({ filter: compileFilter('cm rep or nak or cm rtu'), count: 2 });
    expect(lines.map((line) => line.slice(0, 30))).toEqual([
      '    7    8.958825000 10.77.0.1',
      '    8    8.969449000 10.77.0.2',
    ]);
  });

  it('shows nothing when nothing passes', async () => {
    expect(await dump({ filter: compileFilter('pfc') })).toEqual([]);
  });

  it('knows what a packet is to those before it, without being asked twice', async () => {
    const lines = await dump({ filter: compileFilter('retransmission or copy') }, fileOf(writeWithRepetition()));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^ {4}3 .*psn 6 .*\{.*(copy|retransmission).*\}.* # again$/);
  });

  it('takes from a file what passes and leaves everything else in it as it was', async () => {
    const capture = new Sink();
    const file = writeWithRepetition();
    await dump({ filter: compileFilter('psn 6'), capture, quiet: true }, fileOf(file));
    const [before, after] = [file, capture.bytes].map((bytes) => {
      const reader = new CaptureReader();
      reader.push(bytes);
      const packets: CapturedPacket[] = [];
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) packets.push(packet);
      const interfaces = reader.interfaces.map(({ name, linkType, snapLength }) => ({ name, linkType, snapLength }));
      return { packets, interfaces, sections: reader.sections };
    });
    expect(after?.interfaces).toEqual(before?.interfaces);
    expect(after?.sections).toEqual(before?.sections);
    expect(after?.packets.map(({ bytes, nanoseconds, comments }) => ({ bytes, nanoseconds, comments }))).toEqual(
      before?.packets.slice(1, 3).map(({ bytes, nanoseconds, comments }) => ({ bytes, nanoseconds, comments })),
    );
  });
});

describe('fields', () => {
  it('stand in columns, empty where a packet has none', async () => {
    const names = ['frame.number', 'ip.addr', 'infiniband.cm.rep.startpsn', 'arp.opcode'];
    const lines = await dump({ fields: { names, header: true }, filter: compileFilter('frame 4-7') });
    expect(lines).toEqual([
      names.join('\t'),
      '4\t\t\t1',
      '5\t\t\t2',
      '6\t10.77.0.2,10.77.0.1\t\t',
      '7\t10.77.0.1,10.77.0.2\t13918763\t',
    ]);
  });

  it('are the same whether or not a column needs all that is known of a packet', async () => {
    const quick = ['frame.number', 'infiniband.bth.psn', 'infiniband.aeth.msn', 'ip.ttl'];
    const slow = await dump({ fields: { names: [...quick, 'roce.icrc.status'] } });
    expect(slow.filter((line) => line.endsWith('\tgood')).length).toBeGreaterThan(40);
    expect(await dump({ fields: { names: quick } })).toEqual(slow.map((line) => line.replace(/\t[a-z]*$/, '')));
  });

  it('keep to their columns whatever is in them', async () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'a\tb', linkType: LinkType.Ethernet });
    writer.packet(0, new Uint8Array(20), 0, 20, 1, 2, { comments: ['one; "two"', 'three\\'] });
    const file = writer.take();
    const names = ['frame.interface_name', 'frame.comment', 'frame.len'];
    expect(await dump({ fields: { names } }, fileOf(file))).toEqual(['a\\tb\tone; "two"\\nthree\\\\\t20']);
    expect(await dump({ fields: { names, separator: ';' } }, fileOf(file))).toEqual([
      'a\\tb;"one; ""two""\\nthree\\\\";20',
    ]);
  });

  it('are refused when no packet can have them', async () => {
    await expect(dump({ fields: { names: ['infiniband.bth.psm'] } })).rejects.toThrow(
      "'infiniband.bth.psm' is no field; did you mean 'infiniband.bth.psn'",
    );
    await expect(dump({ fields: { names: ['zzz'] } })).rejects.toThrow(
      "'zzz' is no field; roce dump --json shows their names",
    );
  });

  it('of the analysis are there without being asked for twice', async () => {
    const lines = await dump({ fields: { names: ['frame.number', 'roce.stream'] } }, fileOf(writeWithRepetition()));
    expect(lines).toEqual(['1\t1', '2\t1', '3\t1', '4\t1']);
  });
});

describe('times', () => {
  it.each([
    ['relative', ['0.000000000', '0.000001000', '0.000002000']],
    ['delta', ['0.000000000', '0.000001000', '0.000001000']],
    ['epoch', ['10.000000000', '10.000001000', '10.000002000']],
    ['absolute', ['1970-01-01 00:00:10.000000000', '1970-01-01 00:00:10.000001000', '1970-01-01 00:00:10.000002000']],
    ['none', ['', '', '']],
  ] as const)('are shown as %s', async (time, texts) => {
    const lines = await dump({ time, count: 3 }, fileOf(writeWithRepetition()));
    expect(lines.map((line) => /^ +\d+ +(.*?) ?10\.77\.0\.2 >/.exec(line)?.[1])).toEqual(texts);
  });

  it('count from the first packet of the capture, also when that does not pass', async () => {
    const [line = ''] = await dump({ filter: compileFilter('psn 7') }, fileOf(writeWithRepetition()));
    expect(line).toContain(' 0.000003000 ');
  });

  it('count from the packet before that passed, as a difference', async () => {
    const lines = await dump({ time: 'delta', filter: compileFilter('psn 5 or psn 7') }, fileOf(writeWithRepetition()));
    expect(lines[1]).toContain(' 0.000003000 ');
  });
});

describe('any packets', () => {
  const frames = fc.array(
    fc.record({
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 90 }),
        fc.constantFrom(...[...readCapture(SAMPLE)].map(({ bytes }) => bytes)),
      ),
      at: fc.nat(80),
      value: fc.nat(255),
      linkType: fc.constantFrom(0, 1, 12, 101, 108, 113, 147, 228, 229, 276),
      seconds: fc.constantFrom(-1, 0, 1_795_230_354, 253_402_300_800, 2 ** 60),
      more: fc.nat(100),
    }),
    { minLength: 1, maxLength: 8 },
  );

  it.each<[string, DumpOptions]>([
    ['lines', { time: 'absolute', analyze: true }],
    ['details', { verbose: true, time: 'delta' }],
    ['objects', { json: true }],
    ['fields', { fields: { names: ['frame.time_epoch', 'ip.addr', 'infiniband.bth.psn', 'roce.marks'] } }],
    ['a ladder', { ladder: {} }],
  ])('are printed as %s, each of them', async (what, options) => {
    await fc.assert(
      fc.asyncProperty(frames, async (all) => {
        const packets = all.map(({ bytes, at, value, linkType, seconds, more }, index): CapturedPacket => {
          const changed = bytes.slice();
          changed[at] = value;
          const [number, originalLength] = [index + 1, changed.length + (more > 50 ? more : 0)];
          return {
            number,
            seconds,
            nanoseconds: 5,
            bytes: changed,
            originalLength,
            linkType,
            interfaceIndex: 0,
            direction: 0,
            comments: [],
          };
        });
        const source: CaptureSource = {
          async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket> {
            yield* packets;
          },
        };
        const lines = await dump(options, source);
        if (what === 'lines' || what === 'objects' || what === 'fields') expect(lines).toHaveLength(packets.length);
        else expect(lines.length).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a ladder', () => {
  it('has an arrow for each frame, and says what comes again', async () => {
    const lines = await dump({ ladder: { width: 80 }, analyze: true }, fileOf(writeWithRepetition()));
    expect(lines).toEqual([
      '       time us  10.77.0.2                      10.77.0.1',
      '         0.000  │── WRITE First  psn 0  1024 B ───────▶│',
      '         1.000  │── WRITE Middle  psn 1  1024… ───────▶│',
      '         2.000  │── WRITE Middle  psn 1  1024… ───────▶│  DUPLICATED',
      '         3.000  │── WRITE Last  psn 2  1024 B ────────▶│',
    ]);
  });

  it('begins anew where other hosts speak, and keeps what is no packet between hosts apart', async () => {
    const lines = await dump({ ladder: { width: 80 }, filter: compileFilter('arp or rc'), count: 12 });
    const headings = lines.filter((line) => line.includes('time us'));
    expect(headings).toEqual([expect.stringMatching(/10\.77\.0\.[12] +10\.77\.0\.[12]$/)]);
    expect(lines.filter((line) => /^ +[\d.]+ {2}· {2}52:54:\S+ > \S+ ARP /.test(line)).length).toBeGreaterThan(0);
  });
});

describe('what comes live', () => {
  /** Gives out packets one at a time, the next one when told to. */
  class Tap implements CaptureSource {
    readonly live = true;
    readonly interfaces = [{ linkType: LinkType.Ethernet, snapLength: 0, name: 'tap', description: '' }];
    readonly #packets: CapturedPacket[] = [];
    #arrived = (): void => {};
    #closed = false;

    arrive(packet: CapturedPacket | undefined): void {
      if (packet === undefined) this.#closed = true;
      else this.#packets.push(packet);
      this.#arrived();
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket> {
      for (;;) {
        const packet = this.#packets.shift();
        if (packet !== undefined) yield packet;
        else if (this.#closed) return;
        else await new Promise<void>((resolve) => (this.#arrived = resolve));
      }
    }
  }
  /** Until the turn is over: what was asked for in it has been done by then. */
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const packets = [...readCapture(writeWithRepetition())];

  it.each<[string, DumpOptions]>([
    ['lines', {}],
    ['fields', { fields: { names: ['frame.number'] } }],
    ['objects', { json: true }],
    ['a ladder', { ladder: {} }],
  ])('is printed as %s in the turn in which it came', async (_what, options) => {
    const [tap, sink] = [new Tap(), new Sink()];
    const done = dumpFrames(tap, options, sink);
    let before = 0;
    for (const packet of packets) {
      tap.arrive(packet);
      await turn();
      expect(sink.lines.length).toBeGreaterThan(before);
      before = sink.lines.length;
    }
    tap.arrive(undefined);
    expect(await done).toBe(4);
  });

  it('is drawn in the turn in which it came, also in the middle of a run', async () => {
    const [tap, sink] = [new Tap(), new Sink()];
    const done = dumpFrames(tap, { ladder: {} }, sink);
    const [, middle] = packets;
    const counts: number[] = [];
    for (let times = 0; times < 5; times++) {
      tap.arrive(middle);
      await turn();
      counts.push(sink.lines.length);
    }
    tap.arrive(undefined);
    await done;
    expect(counts).toEqual([2, 3, 4, 5, 6]);
  });

  it('is in the file in the turn in which it came', async () => {
    const [tap, sink, capture] = [new Tap(), new Sink(), new Sink()];
    const done = dumpFrames(tap, { capture, quiet: true, filter: compileFilter('psn 6') }, sink);
    for (const [at, packet] of packets.entries()) {
      tap.arrive(packet);
      await turn();
      const written = capture.bytes.length === 0 ? [] : [...readCapture(capture.bytes)];
      expect(written.length).toBe([0, 1, 2, 2][at]);
    }
    tap.arrive(undefined);
    await done;
    expect(sink.bytes.length).toBe(0);
  });

  it('waits for whoever reads slowly, holding no more than was gathered', async () => {
    let release = (): void => {};
    let taken = 0;
    const slow = new Writable({
      highWaterMark: 1000,
      write: (chunk: Buffer, _encoding, done) => {
        taken += chunk.length;
        release = done;
      },
    });
    let asked = 0;
    const endless: CaptureSource = {
      async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket> {
        for (const packet of Array.from({ length: 20_000 }, () => packets).flat()) {
          asked++;
          yield packet;
        }
      },
    };
    const done = dumpFrames(endless, { count: 60_000 }, slow);
    for (let round = 0; round < 20; round++) await turn();
    expect(asked).toBeLessThan(4000);
    const pump = setInterval(() => release(), 0);
    expect(await done).toBe(60_000);
    clearInterval(pump);
    expect(taken).toBeGreaterThan(60_000 * 50);
  });
});
