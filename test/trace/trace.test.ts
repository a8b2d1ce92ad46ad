/**
 * Goal: a trace tells what a device did and why, every event as the schema has it, and reads back into the packets that
 * passed. Method: two devices on a simulated Ethernet that loses and marks packets, one of them watched; the file is
 * read in pieces of any size.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { Dissection, dissect } from '../../pcap/dissection.ts';
import { Direction, LinkType } from '../../pcap/types.ts';
import { attachDevice, WcStatus, World, WrOpcode } from '../../src/index.ts';
import {
  looksLikeTrace,
  packetOfTrace,
  TRACE_EVENTS,
  type TraceEvent,
  TraceReader,
  TraceRecorder,
} from '../../src/trace/index.ts';
import { makeSide, PORT } from '../device/support.ts';

interface TracedRun {
  readonly text: string;
  /** Opcode and PSN of what left and reached the watched device, by the tap of the network. */
  readonly wire: readonly string[];
}

/**
 * A connects to B and writes 64 KiB three times, then SENDs without a receive; the third and ninth packets of its data
 * are lost.
 */
async function tracedRun(seed = 7, watched = 'a'): Promise<TracedRun> {
  const world = new World({ seed, latencyNs: 2_000 });
  let text = '';
  const trace = new TraceRecorder({
    now: () => world.now,
    name: 'a',
    title: 'a test',
    write: (piece) => {
      text += piece;
    },
  });
  const wire: string[] = [];
  const dissection = new Dissection();
  world.network.tap = {
    frame: (now, port, direction, bytes, start, end) => {
      if (port.name !== watched) return;
      trace.frame(now, direction, bytes, start, end);
      const piece = bytes.slice(start, end);
      wire.push(briefly({ bytes: piece, originalLength: piece.length, direction: 0, linkType: 1 }, dissection));
    },
  };
  const congestion = { reaction: { kind: 'dcqcn', profile: 'paper' }, lineRateBps: 10e9 } as const;
  const a = attachDevice(world, 'a', {
    addresses: ['10.0.0.1/24'],
    congestion,
    ...(watched === 'a' ? { trace } : {}),
    faults: { ceMark: 0.2 },
  });
  for (const nth of [3, 150])
    world.network.addRule({
      port: 'a',
      nth,
      match: ({ payloadLength, opcode }) => payloadLength > 256 && opcode !== 0x64,
      action: 'drop',
    });
  const b = attachDevice(world, 'b', {
    addresses: ['10.0.0.2/24'],
    congestion: {},
    ...(watched === 'b' ? { trace } : {}),
  });
  const [left, right] = [makeSide(a), makeSide(b)];
  const listener = b.cm.listen(PORT);
  const accepted = listener.next().then(({ value }) => value?.accept({ qp: right.qp, minRnrTimer: 1 }));
  await world.run(a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp, maxRnrRetry: 1 }));
  await world.run(accepted);
  const target = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  for (let wrId = 0; wrId < 3; wrId++)
    left.qp.postSend({ wrId, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr }], ...target });
  for (let i = 0; i < 3; i++) await world.run(left.cq.next());
  left.qp.postSend({ wrId: 3, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 8 }] });
  await world.run(left.cq.next());
  return { text, wire };
}

function briefly(
  packet: { bytes: Uint8Array; originalLength: number; direction: 0 | 1 | 2; linkType: number },
  into: Dissection,
): string {
  dissect({ number: 1, seconds: 0, nanoseconds: 0, interfaceIndex: 0, comments: [], ...packet }, into);
  const { frame } = into;
  return `${into.status} ${frame.opcode} ${frame.destQpn} ${frame.psn} ${frame.payloadLength}`;
}

function readAll(text: string, cuts: readonly number[] = []): TraceEvent[] {
  const reader = new TraceReader();
  const events: TraceEvent[] = [];
  let at = 0;
  for (const cut of [...cuts, text.length]) {
    reader.push(text.slice(at, cut));
    at = cut;
    for (let event = reader.next(); event !== undefined; event = reader.next()) events.push(event);
  }
  const last = reader.end();
  return last === undefined ? events : [...events, last];
}

const named = (events: readonly TraceEvent[], name: string): Readonly<Record<string, unknown>>[] =>
  events.filter((event) => event.name === `roce:${name}`).map(({ data }) => data);

const { text, wire } = await tracedRun();
const events = readAll(text);

describe('a trace', () => {
  it('tells the way of a queue pair through its states', () => {
    const moves = named(events, 'state_updated').map((data) => `${data['old']} > ${data['new']}`);
    expect(moves).toEqual(['RESET > INIT', 'INIT > RTR', 'RTR > RTS', 'RTS > ERR']);
  });

  it('says why a requester went back', () => {
    const back = named(events, 'went_back');
    expect(back.length).toBeGreaterThanOrEqual(2);
    expect(back.every((data) => data['trigger'] === 'nak')).toBe(true);
  });

  it('shows the wait for a peer that is not ready, and how the work request ended', () => {
    expect(named(events, 'rnr_wait')).toMatchObject([{ wait: 0.01 }]);
    const done = named(events, 'completed').map((data) => `${data['wr_id']} ${data['opcode']} ${data['status']}`);
    expect(done.slice(0, 3)).toEqual(['0 RdmaWrite success', '1 RdmaWrite success', '2 RdmaWrite success']);
    expect(done).toHaveLength(4);
    expect(done[3]).toMatch(/^3 Send RNR retry/i);
    expect(WcStatus.RnrRetryExcErr).toBe(13);
  });

  it('has a rate for every change that notifications make', () => {
    const notified = named(events, 'notified').length;
    expect(notified).toBeGreaterThan(0);
    const rates = named(events, 'rate_updated').map((data) => Number(data['rate']));
    expect(Math.min(...rates)).toBeLessThan(10e9);
    expect(new Set(rates.map(String)).size).toBeGreaterThan(1);
  });

  it('acknowledges upwards, and all of it at last', () => {
    const acknowledged = named(events, 'acknowledged');
    expect(acknowledged.at(-1)).toMatchObject({ outstanding: 0 });
    expect(acknowledged.length).toBeGreaterThan(3);
  });

  it('has every frame that passed, in order, and its headers read back the same', () => {
    const into = new Dissection();
    const packets = events.flatMap((event, i) => packetOfTrace(event, i + 1) ?? []);
    expect(packets.map((packet) => briefly(packet, into))).toEqual(wire);
    expect(packets.every(({ linkType }) => linkType === LinkType.Ethernet)).toBe(true);
    expect(new Set(packets.map(({ direction }) => direction))).toEqual(
      new Set([Direction.Inbound, Direction.Outbound]),
    );
    expect(packets.some(({ bytes, originalLength }) => originalLength > bytes.length)).toBe(true);
  });

  it('writes the same text for the same seed', async () => {
    expect((await tracedRun()).text).toBe(text);
    expect((await tracedRun(8)).text).not.toBe(text);
  });

  it('says what a responder made of requests that it did not execute', async () => {
    const judged = named(readAll((await tracedRun(7, 'b')).text), 'request_judged').map((data) => data['judgement']);
    expect(judged.filter((judgement) => judgement === 'out-of-sequence')).toHaveLength(2);
    expect(judged.filter((judgement) => judgement === 'not-ready')).toHaveLength(2);
    expect(judged).toContain('dropped');
  });

  it('writes every event as the schema has it, and this run has nearly every kind', () => {
    const schemas = new Map(TRACE_EVENTS.map((schema) => [schema.name, schema]));
    for (const { name, data } of events) {
      const fields = schemas.get(name)?.fields ?? [];
      const known = new Map(fields.map((field) => [field.name, field]));
      for (const [key, value] of Object.entries(data))
        expect([name, key, known.has(key), typeOf(value, known.get(key)?.type)]).toEqual([
          name,
          key,
          true,
          known.get(key)?.type,
        ]);
      const missing = fields.filter((field) => field.optional !== true && !(field.name in data));
      expect(missing).toEqual([]);
    }
    const seen = new Set(events.map(({ name }) => name));
    expect([...schemas.keys()].filter((name) => !seen.has(name))).toEqual(['roce:request_judged']);
  });
});

function typeOf(value: unknown, wanted: string | undefined): string {
  return wanted === 'integer' && Number.isInteger(value) ? 'integer' : typeof value;
}

describe('the reader of traces', () => {
  it('gives the same events however the text is cut', () => {
    const short = text.slice(0, 20_000 + text.slice(20_000).indexOf('\x1e'));
    const whole = readAll(short);
    fc.assert(
      fc.property(fc.array(fc.nat(short.length), { maxLength: 20 }), (cuts) => {
        expect(
          readAll(
            short,
            cuts.toSorted((x, y) => x - y),
          ),
        ).toEqual(whole);
      }),
    );
  });

  it('gives what is whole before it says where a trace breaks off', () => {
    const reader = new TraceReader();
    reader.push(text.slice(0, text.length - 5));
    let count = 0;
    while (reader.next() !== undefined) count++;
    expect(count).toBe(events.length - 1);
    expect(() => reader.end()).toThrow(`record ${events.length + 1} of the trace is not JSON, or is cut off`);
  });

  it('throws nothing but ERR_ROCE_CAPTURE, whatever the text', () => {
    const mutated = fc
      .tuple(fc.nat(3_000), fc.string({ maxLength: 12, unit: 'binary' }), fc.nat(40))
      .map(([at, inserted, removed]) => text.slice(0, at) + inserted + text.slice(at + removed, 6_000));
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 200 }), mutated), (bad) => {
        try {
          for (const [i, event] of readAll(bad).entries()) packetOfTrace(event, i + 1);
        } catch (error) {
          if (!(error instanceof RoceError)) throw error;
          expect(error.code).toBe('ERR_ROCE_CAPTURE');
        }
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a record without end and a file that is none, in words', () => {
    const flood = new TraceReader();
    flood.push(`\x1e{"${'x'.repeat(1 << 20)}`);
    expect(() => flood.next()).toThrow('record 1 of the trace is longer than a record may be');
    expect(() => readAll('')).toThrow('the trace is empty');
    expect(() => readAll('\x1e{"file_schema":"else"}\n\x1e')).toThrow('record 1 of the trace is no header');
    expect(looksLikeTrace(Uint8Array.of(0x1e, 0x7b))).toBe(true);
    expect(looksLikeTrace(Uint8Array.of(0x0a, 0x0d))).toBe(false);
  });

  it('makes no packet of a raw field that makes no sense', () => {
    const event = (raw: object): TraceEvent => ({ timeNs: 0, name: 'roce:packet_sent', data: { raw } });
    expect(packetOfTrace(event({ length: 2, medium: 'ethernet', data: '0a0b' }), 1)?.bytes).toEqual(
      Uint8Array.of(10, 11),
    );
    for (const raw of [
      { length: 1, data: '0a0b' },
      { length: 70_000, data: '0a' },
      { length: 4, data: '0g' },
      { length: 4 },
    ])
      expect(packetOfTrace(event(raw), 1)).toBeUndefined();
  });
});

describe('docs/trace.md', () => {
  const page = readFileSync(new URL('../../docs/trace.md', import.meta.url), 'utf8');

  it.each(TRACE_EVENTS)('has $name as the schema has it', ({ name, when, fields }) => {
    const section = page.split(`### ${name}\n`)[1]?.split('\n### ')[0] ?? '';
    expect(section.toLowerCase()).toContain(`${when.toLowerCase()}.`);
    const rows = fields.map(
      (field) =>
        `| \`${field.name}\`${field.optional ? ' (where it applies)' : ''} | ${field.type} | ${field.meaning} |`,
    );
    expect(
      section
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .map((line) => line.replaceAll(/ +/g, ' ')),
    ).toEqual(rows);
  });

  it('has no event that the schema lacks', () => {
    const names = [...page.matchAll(/^### (\S+)/gm)].map((match) => match[1]);
    expect(names).toEqual(TRACE_EVENTS.map(({ name }) => name));
  });
});
