/**
 * Goal: the worker's side of the explorer keeps every packet, filters and places them right, answers every question
 * once, and says of any bytes what is wrong with them. Method: a capture with losses made by the stack, the same one
 * damaged anywhere, and any bytes; the analysis itself is the oracle.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Analyzer } from '../../../pcap/analysis/analyzer.ts';
import { Mark, Role } from '../../../pcap/analysis/facts.ts';
import { IcrcState } from '../../../pcap/dissection.ts';
import { PcapWriter } from '../../../pcap/pcap-writer.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { LinkType } from '../../../pcap/types.ts';
import { WcStatus } from '../../../src/index.ts';
import { transfersCapture } from '../../../tools/bench/transfers-capture.ts';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { CaptureAnalysis } from '../../../tools/explorer/engine/follow.ts';
import { LadderIndex } from '../../../tools/explorer/engine/ladder-index.ts';
import { NumberList } from '../../../tools/explorer/engine/packet-table.ts';
import type { News, WorkerReply, WorkerRequest } from '../../../tools/explorer/engine/protocol.ts';
import { ratePicture } from '../../../tools/explorer/engine/rates.ts';
import { packetDetail, rowWindow } from '../../../tools/explorer/engine/rows.ts';
import { PointKind, sequencePicture } from '../../../tools/explorer/engine/sequence.ts';
import { RequestServer } from '../../../tools/explorer/engine/server.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { demandStatus } from '../../../tools/symptoms/stage.ts';
import { lossyCapture } from './lossy-capture.ts';
import { tracedRun } from './traced-run.ts';

const REAL = readFileSync(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
/** Of these the table of a session has all that they ask. */
const TABLE_FILTERS = [
  'retransmission',
  'nak or rnr',
  'ack and not marked',
  'opcode write-middle',
  'read-response or atomic',
  'psn > 0x100',
  'payload 0',
  'payload > 1000 and rc',
  'stream 1 and rel-psn 3-9',
  'frame 20-30 or len < 100',
  'bad-icrc',
  'good-icrc and ip',
  'qp 1',
  'not qp 1',
  'dscp 0 and ecn 0',
  'infiniband.aeth.syndrome >= 0x20',
  'ip.dsfield.ecn == 0 and infiniband.bth.opcode == 17',
];
let lossy = new Uint8Array();
/** Longer than the pieces in which files are read. */
let long = new Uint8Array();

beforeAll(async () => {
  lossy = new Uint8Array(await lossyCapture());
  long = new Uint8Array(await transfersCapture(25));
});

function opened(bytes: Uint8Array, filter = ''): CaptureSession {
  const session = new CaptureSession('test', bytesInMemory(bytes.slice()));
  session.setFilter(filter);
  while (session.work(97));
  return session;
}

describe('Session', () => {
  it('keeps all packets as the reader gives them', () => {
    for (const bytes of [lossy, new Uint8Array(REAL)]) {
      const session = opened(bytes);
      const packets = [...readCapture(bytes.slice())];
      expect(session.problem).toBe('');
      expect(session.table.length).toBe(packets.length);
      packets.forEach((packet, index) => {
        const { bytes: kept, ...rest } = session.packet(index) ?? { bytes: new Uint8Array() };
        const { bytes: read, ...expected } = packet;
        expect(rest).toMatchObject({ ...expected });
        expect(kept).toEqual(read);
      });
    }
  });

  it('finds every packet of a file again that is longer than the pieces in which it is read', () => {
    const session = opened(long);
    let number = 0;
    for (const { bytes } of readCapture(long.slice())) {
      if (Buffer.compare(session.packet(number)?.bytes ?? new Uint8Array(), bytes) !== 0) break;
      number++;
    }
    expect(long.length).toBeGreaterThan(2_200_000);
    expect([session.problem, number]).toEqual(['', session.table.length]);
  });

  it('keeps what the analysis says of each packet', () => {
    const session = opened(lossy);
    const analyzer = new Analyzer();
    let marked = 0;
    for (const packet of readCapture(lossy.slice())) {
      const { marks, relativePsn, missing, conversation } = analyzer.packet(packet);
      const index = packet.number - 1;
      const { table } = session;
      expect([table.marks[index], table.relativePsn[index], table.missing[index]]).toEqual([
        marks,
        relativePsn,
        missing,
      ]);
      // Which conversation a REQ began is known later, by the REP.
      const isReq = session.packetsOf(1).at(0) === index;
      expect(table.conversation[index]).toBe(isReq ? 1 : (conversation?.id ?? 0));
      if (marks !== 0) marked++;
    }
    expect(marked).toBeGreaterThan(20);
    expect(session.analysis?.findings).toEqual(analyzer.finish().findings);
  });

  it('gives every packet to a conversation that the report has, also where two halves became one', async () => {
    // Both ends begin at once, and no connection management tells who speaks to whom.
    const bytes = await play({ vantages: ['mirror'] }, async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
      a.receive(4);
      b.receive(4);
      const all = [a.send(3000), b.send(3000), a.write(b, 5000), b.write(a, 5000)];
      for (const one of all) demandStatus(await one, WcStatus.Success);
    });
    const follower = new CaptureAnalysis();
    for (const packet of readCapture(bytes.slice())) follower.push(packet);
    follower.finish();
    expect(follower.settled()).toEqual([{ from: 2, to: 1, crosswise: true }]);
    const session = opened(bytes);
    expect([...session.byConversation.keys()]).toEqual([1]);
    expect(opened(bytes, 'stream 1').shown).toBe(session.packetsOf(1).length);
    expect(opened(bytes, 'stream 2').shown).toBe(0);
    const list = session.packetsOf(1);
    expect(list.length).toBe(
      session.table.conversation.subarray(0, session.table.length).filter((id) => id === 1).length,
    );
    expect([...list.values]).toEqual([...list.values].sort((one, two) => one - two));
    const ends = session.analysis?.conversations[0]?.ends;
    const sent = [0, 0];
    for (const index of list.values) {
      const sender = session.table.sender[index] === 1 ? 1 : 0;
      // Who sent a packet is the end whose address it has.
      expect(rowWindow(session, index, 1).rows[0]?.ends).toMatch(new RegExp(`^${ends?.[sender].address} `));
      sent[sender] = (sent[sender] ?? 0) + 1;
    }
    expect(sent).toEqual([ends?.[0].packets, ends?.[1].packets]);
    // Requests of both ends are in their own spaces.
    for (const requester of [0, 1] as const) {
      const size = { width: 500, height: 500 };
      const picture = sequencePicture(session, { conversation: 1, requester, fromNs: 0, toNs: 0, ...size });
      expect([...picture.kind].filter((kind) => kind === PointKind.Request)).toHaveLength(8);
    }
  });

  it('tells the ends of a packet from what is said of it, with IPv6 addresses too', () => {
    // From ::, which ends in colons, as hosts do before they have an address.
    const bytes = new Uint8Array(48);
    bytes.set([0x60, 0, 0, 0, 0, 8, 58, 255]);
    bytes.set([0xff, 0x02], 24);
    bytes[39] = 0x16;
    const writer = new PcapWriter(LinkType.Raw);
    writer.packet(bytes, 0, bytes.length, 0, 0);
    expect(rowWindow(opened(writer.take()), 0, 1).rows[0]).toMatchObject({ ends: ':: > ff02::16', broken: false });
  });

  it('shows what passes the filter, and finds packets in it', () => {
    const session = opened(lossy, 'retransmission');
    const numbers = rowWindow(session, 0, 500).rows.map(({ number }) => number);
    const all = opened(lossy);
    const expected = [...all.table.marks.subarray(0, all.table.length)].flatMap((marks, index) =>
      (marks & Mark.Retransmission) !== 0 ? [index + 1] : [],
    );
    expect(numbers).toEqual(expected);
    expect(expected.length).toBeGreaterThan(10);
    expect(session.shown).toBe(expected.length);
    expect(session.rowOfIndex((expected[3] ?? 0) - 1)).toBe(3);
    expect(session.indexOfRow(expected.length)).toBeUndefined();
  });

  it('filters without reading the file again where the table has what the filter asks', () => {
    const session = opened(lossy);
    const shownBy = (text: string): readonly number[] => {
      expect(session.setFilter(text)).toBeNull();
      while (session.work(97));
      return Array.from({ length: session.shown }, (_, row) => session.indexOfRow(row) ?? -1);
    };
    const bytesOf = vi.spyOn(session, 'packet');
    for (const text of TABLE_FILTERS) {
      const byTable = shownBy(text);
      expect(bytesOf, text).not.toHaveBeenCalled();
      expect(byTable.length, text).toBeGreaterThan(0);
      // `frame.cap_len` is of the packet itself: the same question, asked of the packets.
      expect(shownBy(`(${text}) and frame.cap_len > 0`), text).toEqual(byTable);
      expect(bytesOf).toHaveBeenCalledTimes(session.table.length);
      bytesOf.mockClear();
    }
  });

  it('asks the packets where the analysis has given up, and the table lacks what came after', () => {
    const failing = vi.spyOn(Analyzer.prototype, 'packet').mockImplementationOnce(() => {
      throw new Error('a fault of the analysis');
    });
    const session = opened(lossy, 'opcode write-middle');
    failing.mockRestore();
    expect(session.problem).toBe('a fault of the analysis');
    expect(session.shown).toBe(opened(lossy, 'opcode write-middle').shown);
    expect(session.shown).toBeLessThan(session.table.length);
  });

  it('shows everything, and says where the fault is, for a filter that makes no sense', () => {
    const session = opened(lossy);
    const fault = session.setFilter('nak or blah >');
    expect(fault?.sentence).toMatch(/column \d+/);
    expect(fault?.column).toBeGreaterThan(1);
    while (session.work(100));
    expect(session.shown).toBe(session.table.length);
  });

  it('shows what is whole of a file that was cut, with the offset', () => {
    for (const bytes of [lossy, new Uint8Array(REAL)]) {
      const whole = opened(bytes).table.length;
      const session = opened(bytes.subarray(0, bytes.length - 9));
      expect(session.table.length).toBe(whole - 1);
      expect(session.problem).toMatch(/byte \d+/);
      expect(session.analysis).not.toBeNull();
    }
    expect(opened(new Uint8Array()).problem).toMatch(/empty/);
    expect(opened(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)).problem).not.toBe('');
  });

  it('survives any bytes, and damage anywhere in a capture', () => {
    const damaged = fc
      .tuple(fc.boolean(), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 12 }))
      .map(([real, flips]) => {
        const bytes = real ? new Uint8Array(REAL).slice(0, 20_000) : lossy.slice(0, 20_000);
        for (const [at, value] of flips) bytes[at % bytes.length] = value;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), damaged), (bytes) => {
        const session = opened(bytes);
        expect(session.done).toBe(true);
        const { rows } = rowWindow(session, 0, 500);
        expect(rows.length).toBe(Math.min(500, session.table.length));
        for (const { number } of rows.slice(0, 40)) {
          const detail = packetDetail(session, number);
          const length = detail?.headers.reduce((sum, { byteLength }) => sum + byteLength, 0);
          expect(length).toBe(detail?.bytes.length);
        }
        for (const id of session.byConversation.keys()) {
          new LadderIndex(session, id).window(0, 500);
          sequencePicture(session, { conversation: id, requester: 0, fromNs: 0, toNs: 0, width: 100, height: 100 });
        }
        ratePicture(session, { conversation: 0, fromNs: 0, toNs: 0, bins: 10 });
      }),
      { numRuns: 60 },
    );
  });
});

describe('LadderIndex', () => {
  it('has a line for every packet, for what was lost and for the silence, wherever one looks', () => {
    const session = opened(lossy);
    const index = new LadderIndex(session, 1);
    const { rows, total } = index.window(0, 500);
    expect(rows.length).toBe(total);
    const numbers = rows.flatMap((row) => (row.kind === 'packet' ? [row.packet.number] : []));
    expect(numbers).toEqual([...session.packetsOf(1).values].map((at) => at + 1));
    expect(rows.filter(({ kind }) => kind === 'lost')).toMatchObject([
      { psn: 9, count: 1, sender: 0 },
      { psn: 23, count: 1, sender: 0 },
    ]);
    expect(rows.filter(({ kind }) => kind === 'silence')).toMatchObject([{ timeout: true }]);
    expect(rows.find((row) => row.kind === 'packet')).toMatchObject({ packet: { name: 'CM REQ' } });
    rows.forEach((row, line) => {
      expect(index.window(line, 1).rows).toEqual([row]);
      if (row.kind === 'packet') expect(index.lineOf(row.packet.number)).toBe(line);
    });
  });
});

describe('sequencePicture', () => {
  const params = { conversation: 1, requester: 0, fromNs: 0, toNs: 0, width: 1200, height: 500 } as const;

  it('has a point for every kind of thing that happened', () => {
    const picture = sequencePicture(opened(lossy), params);
    const kinds = (kind: number) =>
      picture.merged.reduce((sum, merged, at) => sum + (picture.kind[at] === kind ? merged : 0), 0);
    expect(kinds(PointKind.Lost)).toBe(2);
    expect(kinds(PointKind.Nak)).toBe(2);
    expect(kinds(PointKind.RnrNak)).toBeGreaterThan(0);
    expect(kinds(PointKind.RequestAgain)).toBeGreaterThan(10);
    expect(kinds(PointKind.Response)).toBeGreaterThan(5);
    expect([...picture.ackPsn]).toEqual([...picture.ackPsn].sort((a, b) => a - b));
    expect(picture.highPsn).toBeGreaterThan(90);
  });

  it('is bounded by its pixels, and shows only the time asked for', () => {
    const session = opened(lossy);
    const small = sequencePicture(session, { ...params, width: 10, height: 10 });
    expect(small.kind.length).toBeLessThanOrEqual(10 * 10 * 8);
    const { fromNs, toNs } = sequencePicture(session, params);
    const middle = (fromNs + toNs) / 2;
    const part = sequencePicture(session, { ...params, fromNs, toNs: middle });
    expect(Math.max(...part.timeNs)).toBeLessThanOrEqual(middle);
    expect(part.packets).toBeLessThan(sequencePicture(session, params).packets);
  });
});

describe('ratePicture', () => {
  it('adds up to what was sent for the first time, and again', () => {
    const session = opened(lossy);
    const { sides, binNs } = ratePicture(session, { conversation: 1, fromNs: 0, toNs: 0, bins: 50 });
    const bytes = (column: Float64Array) => Math.round((column.reduce((a, b) => a + b, 0) * binNs) / 8e9);
    const { table } = session;
    let [first, again] = [0, 0];
    const ignored: number[] = [];
    for (const index of session.packetsOf(1).values) {
      if (table.sender[index] !== 0) continue;
      if (((table.marks[index] ?? 0) & Mark.Retransmission) !== 0) again += table.payload[index] ?? 0;
      else first += table.payload[index] ?? 0;
      // The REQ and the RTU, and a packet that the receiver dropped: payload of no application.
      if (table.role[index] === Role.Management || table.icrc[index] === IcrcState.Bad) ignored.push(index);
    }
    for (const index of ignored) first -= table.payload[index] ?? 0;
    expect(ignored.length).toBe(3);
    expect([bytes(sides[0].goodputBps), bytes(sides[0].againBps)]).toEqual([first, again]);
    expect(again).toBeGreaterThan(10_000);
  });
});

describe('a trace in the place of a capture', () => {
  it('shows its packets, and what the device decided between them', async () => {
    const session = opened(await tracedRun());
    expect(session.problem).toBe('');
    expect(session.table.length).toBeGreaterThan(100);
    expect(session.interfaces[0]?.name).toBe('sender');
    const { rows } = new LadderIndex(session, 1).window(0, 500);
    const notes = rows.flatMap((row) => (row.kind === 'note' ? [row.note] : []));
    const texts = notes.map(({ text }) => text);
    expect(texts).toContain('RTR to RTS');
    expect(texts).toContainEqual(expect.stringMatching(/^goes back to psn 2: nak$/));
    expect(texts).toContainEqual(expect.stringMatching(/^RdmaWrite completed: /));
    expect(new Set(notes.map(({ side }) => side))).toEqual(new Set([0]));
    // Each stands where its time is.
    const times = rows.flatMap((row) =>
      row.kind === 'note' ? [row.note.timeNs] : row.kind === 'packet' ? [row.packet.timeNs] : [],
    );
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const index = new LadderIndex(session, 1);
    rows.forEach((row, line) => {
      if (row.kind === 'packet') expect(index.lineOf(row.packet.number)).toBe(line);
    });
  });

  it('has the rates that the device used', async () => {
    const session = opened(await tracedRun());
    const { traced } = ratePicture(session, { conversation: 1, fromNs: 0, toNs: 0, bins: 10 });
    expect(traced?.timeNs.length).toBeGreaterThan(3);
    expect(Math.min(...(traced?.rateBps ?? []))).toBeLessThan(10e9);
    expect(Math.max(...(traced?.alpha ?? []))).toBeLessThanOrEqual(1);
    expect(ratePicture(opened(lossy), { conversation: 1, fromNs: 0, toNs: 0, bins: 10 }).traced).toBeNull();
  });

  it('says where a trace ends that was cut, and shows what is before', async () => {
    const whole = await tracedRun();
    const session = opened(whole.subarray(0, whole.length - 30));
    expect(session.problem).toMatch(/record \d+ of the trace/);
    expect(session.table.length).toBeGreaterThan(100);
  });
});

describe('ExplorerServer', () => {
  function server() {
    const replies: WorkerReply[] = [];
    const later: (() => void)[] = [];
    const made = new RequestServer({
      post: (reply) => replies.push(reply),
      open: (name) => {
        if (name === 'lossy') return bytesInMemory(lossy.slice());
        throw new Error(`there is no ${String(name)}`);
      },
      later: (callback) => later.push(callback),
    });
    let id = 0;
    const ask = (name: WorkerRequest['name'], params: unknown) =>
      made.handle({ id: ++id, name, params } as WorkerRequest);
    const run = () => {
      for (let callback = later.shift(); callback !== undefined; callback = later.shift()) callback();
    };
    const news = () => replies.flatMap((reply): News[] => (reply.kind === 'news' ? [reply.news] : []));
    return { ask, run, replies, news, turn: () => later.shift()?.() };
  }

  it('answers each question once, also those that come in between', () => {
    const { ask, run, replies, news, turn } = server();
    ask('rows', { from: 0, count: 5 });
    expect(replies).toEqual([{ kind: 'refusal', id: 1, sentence: 'no file is open' }]);
    ask('open', { name: 'lossy', content: 'lossy' });
    ask('filter', { text: 'nak' });
    turn();
    ask('filter', { text: 'retransmission' });
    ask('rows', { from: 0, count: 5 });
    ask('packet', { number: 999_999 });
    run();
    const ids = replies.flatMap((reply) => (reply.kind === 'news' ? [] : [reply.id]));
    expect([...ids].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(news().at(-1)).toMatchObject({ done: true, problem: '', name: 'lossy', packets: 174 });
    expect(news().at(-1)?.analysis?.findings.length).toBeGreaterThan(0);
    expect(replies.find((reply) => reply.kind === 'answer' && reply.id === 4)).toMatchObject({
      result: { shown: news().at(-1)?.shown, fault: null },
    });
    expect(replies.find((reply) => reply.kind === 'answer' && reply.id === 6)).toMatchObject({ result: null });
  });

  it('refuses what it cannot do with a sentence, and goes on', () => {
    const { ask, run, replies } = server();
    ask('open', { name: 'x', content: 'no file' });
    ask('ladder', null);
    ask('open', { name: 'lossy', content: 'lossy' });
    run();
    expect(replies.slice(0, 2)).toEqual([
      { kind: 'refusal', id: 1, sentence: 'there is no no file' },
      { kind: 'refusal', id: 2, sentence: expect.any(String) },
    ]);
    expect(replies.at(-1)).toMatchObject({ kind: 'news', news: { done: true, packets: 174 } });
  });
});

describe('NumberList', () => {
  it('finds the first value that is not below another', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(500)), fc.nat(510), (values, wanted) => {
        const sorted = [...values].sort((a, b) => a - b);
        const list = new NumberList();
        for (const value of sorted) list.push(value);
        const expected = sorted.findIndex((value) => value >= wanted);
        expect(list.lowerBound(wanted)).toBe(expected < 0 ? sorted.length : expected);
        expect([...list.values]).toEqual(sorted);
      }),
    );
  });
});
