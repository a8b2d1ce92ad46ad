/**
 * Goal: who talks to whom is learnt from connection management, or from the traffic alone, on real traffic and on any
 * nonsense. Method: made packets; the captures of rdma_rxe and the sample cut from them; arbitrary bytes.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Frame, frameSource, Medium, parseFrame } from '../../packets/frame.ts';
import { Op, OpFlag, SERVICE_MASK, Service } from '../../packets/opcode.ts';
import { readCapture } from '../../pcap/index.ts';
import { ConnectionTracker, PacketContext, type TrackedConnection } from '../../src/faults/conversations.ts';
import { RXE_CAPTURES, rxeCapture } from '../vectors/captures.ts';
import { A_TO_B, acknowledge, B_TO_A, mad, packet, rep, req } from './support.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const QP_A = 0x11;
const QP_B = 0x22;

/** Observes frames one after another. */
class Onlooker {
  readonly conversations: ConnectionTracker;
  readonly #frame = new Frame();

  constructor(capacity?: number) {
    this.conversations = new ConnectionTracker(capacity);
  }

  see(direction: number, bytes: Uint8Array): PacketContext {
    const note = new PacketContext();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, this.#frame);
    this.conversations.observe(this.#frame, status, direction, note);
    return note;
  }

  request(direction: number, qpn: number, psn: number, opcode: number = Op.SendOnly): PacketContext {
    return this.see(direction, packet({ direction, opcode, qpn, psn }));
  }

  answer(direction: number, qpn: number, psn: number): PacketContext {
    return this.see(direction, acknowledge(direction, qpn, psn));
  }

  get summary(): string[] {
    return this.conversations.list().map(summaryOf);
  }
}

function summaryOf({ connection, learnt, a, b }: TrackedConnection): string {
  return `${connection} ${learnt} ${a.qpn}@${a.startingPsn} ${b.qpn}@${b.startingPsn}`;
}

const where = ({ connection, relativePsn, iteration }: PacketContext) => [connection, relativePsn, iteration];

/** The active side is a; b sends from 100 on, a from 200 on. */
function handshake(onlooker: Onlooker, ipVersion: 4 | 6 = 4): void {
  onlooker.see(A_TO_B, mad(A_TO_B, req({ localCommId: 7, localQpn: QP_A, startingPsn: 100 }), ipVersion));
  const answer = rep({ localCommId: 8, remoteCommId: 7, localQpn: QP_B, startingPsn: 200 });
  onlooker.see(B_TO_A, mad(B_TO_A, answer, ipVersion));
}

describe('connection management', () => {
  it.each([4, 6] as const)('tells both queue pairs and where each side begins to send, over IPv%i', (ipVersion) => {
    const onlooker = new Onlooker();
    handshake(onlooker, ipVersion);
    expect(onlooker.summary).toEqual([`1 cm ${QP_A}@200 ${QP_B}@100`]);
    const spec = { direction: A_TO_B, opcode: Op.WriteFirst, qpn: QP_B, psn: 203, ipVersion };
    const note = onlooker.see(A_TO_B, packet(spec));
    expect(note).toMatchObject({ connection: 1, sourceQpn: QP_A, role: 'request', relativePsn: 3, iteration: 1 });
  });

  it('tells nothing new when it is repeated, and begins anew when a queue pair is used again', () => {
    const onlooker = new Onlooker();
    handshake(onlooker);
    onlooker.request(A_TO_B, QP_B, 200);
    handshake(onlooker);
    expect(where(onlooker.request(A_TO_B, QP_B, 200))).toEqual([1, 0, 2]);
    onlooker.see(A_TO_B, mad(A_TO_B, req({ localCommId: 9, localQpn: QP_A, startingPsn: 500 })));
    onlooker.see(B_TO_A, mad(B_TO_A, rep({ localCommId: 8, remoteCommId: 9, localQpn: QP_B, startingPsn: 600 })));
    expect(where(onlooker.request(A_TO_B, QP_B, 601))).toEqual([2, 1, 1]);
    expect(onlooker.summary).toHaveLength(2);
  });

  it('is not believed when its ICRC is wrong, or when no REQ has asked', () => {
    const onlooker = new Onlooker();
    const answer = rep({ localCommId: 8, remoteCommId: 7, localQpn: QP_B, startingPsn: 200 });
    onlooker.see(B_TO_A, mad(B_TO_A, answer));
    const damaged = mad(A_TO_B, req({ localCommId: 7, localQpn: QP_A, startingPsn: 100 }));
    damaged[150] = 0xff;
    onlooker.see(A_TO_B, damaged);
    onlooker.see(B_TO_A, mad(B_TO_A, answer));
    expect(onlooker.summary).toEqual([]);
  });

  it('datagrams belong to no connection, and say who sent them', () => {
    const onlooker = new Onlooker();
    const note = onlooker.see(A_TO_B, mad(A_TO_B, req({ localCommId: 7, localQpn: QP_A, startingPsn: 100 })));
    expect(note).toMatchObject({ connection: 0, sourceQpn: 1, role: 'request', iteration: 0 });
    expect(note.relativePsn).toBeNaN();
  });
});

describe('PSN spaces', () => {
  it('acknowledges and READ responses are in the space of the requester', () => {
    const onlooker = new Onlooker();
    handshake(onlooker);
    expect(where(onlooker.request(A_TO_B, QP_B, 200, Op.ReadRequest))).toEqual([1, 0, 1]);
    const response = (psn: number) =>
      onlooker.see(B_TO_A, packet({ direction: B_TO_A, opcode: Op.ReadResponseMiddle, qpn: QP_A, psn }));
    expect([200, 201, 202].map((psn) => where(response(psn)))).toEqual([
      [1, 0, 1],
      [1, 1, 1],
      [1, 2, 1],
    ]);
    expect(response(201)).toMatchObject({ role: 'response', sourceQpn: QP_B, relativePsn: 1, iteration: 2 });
    expect(where(onlooker.request(B_TO_A, QP_A, 100))).toEqual([1, 0, 1]);
    expect(where(onlooker.answer(A_TO_B, QP_B, 100))).toEqual([1, 0, 1]);
    expect(where(onlooker.answer(B_TO_A, QP_A, 203))).toEqual([1, 3, 1]);
  });

  it('count on where the 24 bits wrap', () => {
    const onlooker = new Onlooker();
    expect(where(onlooker.request(A_TO_B, QP_B, 0xff_ff_fe))).toEqual([1, 0, 1]);
    expect(where(onlooker.request(A_TO_B, QP_B, 0xff_ff_ff))).toEqual([1, 1, 1]);
    expect(where(onlooker.request(A_TO_B, QP_B, 0))).toEqual([1, 2, 1]);
    expect(where(onlooker.request(A_TO_B, QP_B, 0xff_ff_ff))).toEqual([1, 1, 2]);
    expect(where(onlooker.answer(B_TO_A, QP_A, 0))).toEqual([1, 2, 1]);
  });

  it('are not moved by a damaged PSN', () => {
    const onlooker = new Onlooker();
    handshake(onlooker);
    onlooker.request(A_TO_B, QP_B, 200);
    const damaged = packet({ direction: A_TO_B, opcode: Op.SendOnly, qpn: QP_B, psn: 201 });
    damaged[14 + 20 + 8 + 9] = 0x40;
    expect(onlooker.see(A_TO_B, damaged).connection).toBe(0);
    expect(where(onlooker.request(A_TO_B, QP_B, 201))).toEqual([1, 1, 1]);
  });

  it('a CNP names its connection and has no PSN', () => {
    const onlooker = new Onlooker();
    handshake(onlooker);
    const note = onlooker.request(B_TO_A, QP_A, 0, Op.Cnp);
    expect(note).toMatchObject({ connection: 1, sourceQpn: QP_B, role: 'none', iteration: 0 });
    expect(note.relativePsn).toBeNaN();
  });
});

describe('without connection management', () => {
  it('the first request begins a connection, and the response that fits shows the other queue pair', () => {
    const onlooker = new Onlooker();
    expect(onlooker.request(A_TO_B, QP_B, 1000)).toMatchObject({ connection: 1, sourceQpn: -1, relativePsn: 0 });
    expect(onlooker.answer(B_TO_A, QP_A, 1000)).toMatchObject({ connection: 1, sourceQpn: QP_B, relativePsn: 0 });
    expect(onlooker.request(A_TO_B, QP_B, 1001)).toMatchObject({ connection: 1, sourceQpn: QP_A, relativePsn: 1 });
    expect(onlooker.request(B_TO_A, QP_A, 5000)).toMatchObject({ connection: 1, relativePsn: 0 });
    expect(onlooker.summary).toEqual([`1 traffic ${QP_A}@1000 ${QP_B}@5000`]);
  });

  it('requests of both sides before any response turn out to be one connection', () => {
    const onlooker = new Onlooker();
    onlooker.request(A_TO_B, QP_B, 1000);
    expect(onlooker.request(B_TO_A, QP_A, 5000).connection).toBe(2);
    expect(where(onlooker.answer(B_TO_A, QP_A, 1000))).toEqual([1, 0, 1]);
    expect(where(onlooker.request(B_TO_A, QP_A, 5001))).toEqual([1, 1, 1]);
    expect(where(onlooker.answer(A_TO_B, QP_B, 5000))).toEqual([1, 0, 1]);
    expect(onlooker.summary).toEqual([`1 traffic ${QP_A}@1000 ${QP_B}@5000`]);
    expect(onlooker.request(A_TO_B, 0x99, 1).connection).toBe(2);
  });

  it('are one whichever side asked first, and leave no half behind for the response of another', () => {
    const onlooker = new Onlooker();
    onlooker.request(B_TO_A, QP_A, 5000);
    onlooker.request(A_TO_B, QP_B, 1000);
    expect(where(onlooker.answer(B_TO_A, QP_A, 1000))).toEqual([1, 0, 1]);
    expect(onlooker.summary).toEqual([`1 traffic ${QP_A}@1000 ${QP_B}@5000`]);
    // What neither of the two has asked for.
    expect(onlooker.answer(A_TO_B, 0x77, 5000).connection).toBe(0);
    expect(onlooker.answer(B_TO_A, 0x78, 1000).connection).toBe(0);
    // Packets of either direction show the queue pair that sent them.
    expect(onlooker.request(A_TO_B, QP_B, 1001)).toMatchObject({ connection: 1, sourceQpn: QP_A, relativePsn: 1 });
    expect(onlooker.request(B_TO_A, QP_A, 5001)).toMatchObject({ connection: 1, sourceQpn: QP_B, relativePsn: 1 });
  });

  it('leave no half behind when the older is that of the response', () => {
    const onlooker = new Onlooker();
    onlooker.request(A_TO_B, QP_B, 1000);
    onlooker.request(B_TO_A, QP_A, 5000);
    onlooker.answer(B_TO_A, QP_A, 1000);
    expect(onlooker.answer(A_TO_B, 0x77, 5000).connection).toBe(0);
    expect(onlooker.summary).toEqual([`1 traffic ${QP_A}@1000 ${QP_B}@5000`]);
  });

  it('several connections of the same hosts are told apart by their PSNs', () => {
    const onlooker = new Onlooker();
    const starts = [1000, 700_000, 0xff_ff_f0, 3_000_000];
    for (const [index, psn] of starts.entries()) onlooker.request(A_TO_B, 0x100 + index, psn);
    for (const [index, psn] of starts.entries()) onlooker.answer(B_TO_A, 0x200 + index, psn);
    expect(onlooker.summary).toEqual(
      starts.map((psn, index) => `${index + 1} traffic ${0x200 + index}@${psn} ${0x100 + index}@-1`),
    );
  });

  it('a response that answers nothing belongs to nothing', () => {
    const onlooker = new Onlooker();
    expect(onlooker.answer(B_TO_A, QP_A, 7).connection).toBe(0);
    onlooker.request(A_TO_B, QP_B, 1000);
    expect(onlooker.answer(B_TO_A, QP_A, 999).connection).toBe(0);
    expect(onlooker.answer(B_TO_A, QP_A, 500_000).connection).toBe(0);
    expect(onlooker.summary).toEqual([`1 traffic -1@1000 ${QP_B}@-1`]);
  });
});

describe('memory', () => {
  it('is bounded: the oldest connection is forgotten, with its queue pairs', () => {
    const onlooker = new Onlooker(8);
    for (let qpn = 100; qpn < 300; qpn++) onlooker.request(A_TO_B, qpn, qpn * 1000);
    expect(onlooker.conversations.list().map(({ connection }) => connection)).toEqual([
      193, 194, 195, 196, 197, 198, 199, 200,
    ]);
    expect(onlooker.request(A_TO_B, 299, 299_001)).toMatchObject({ connection: 200, relativePsn: 1 });
    expect(onlooker.request(A_TO_B, 100, 100_001)).toMatchObject({ connection: 201, relativePsn: 0 });
  });

  it('survives any frame, and any damage to real ones', () => {
    const samples = [...readCapture(readFileSync(SAMPLE))].map(({ bytes }) => bytes);
    const onlooker = new Onlooker(16);
    const damaged = fc
      .tuple(fc.nat(samples.length - 1), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.nat())
      .map(([index, changes, cut]) => {
        const bytes = (samples[index] ?? new Uint8Array(0)).slice();
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        return cut % 3 === 0 ? bytes.slice(0, cut % bytes.length) : bytes;
      });
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 400 })), fc.nat(1), (bytes, direction) => {
        const note = onlooker.see(direction, bytes);
        expect(note.iteration >= 0 && note.connection >= 0).toBe(true);
        expect(onlooker.conversations.list().length).toBeLessThanOrEqual(16);
      }),
      { numRuns: 2000 },
    );
  });
});

describe.each(RXE_CAPTURES)('the capture %s', (name) => {
  it('falls into the connections that were made, without a repetition', () => {
    const onlooker = new Onlooker();
    const frame = new Frame();
    let connected = 0;
    for (const { bytes } of readCapture(rxeCapture(name))) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
      // The server, 10.77.0.1, is a.
      const direction = status === 0 && frameSource(frame).toString() === '10.77.0.1' ? A_TO_B : B_TO_A;
      const note = onlooker.see(direction, bytes);
      const service = frame.opcode & SERVICE_MASK;
      if (status !== 0 || (service !== Service.Rc && service !== Service.Uc)) continue;
      connected++;
      expect(note.connection).toBeGreaterThan(0);
      expect(note.relativePsn).toBeGreaterThanOrEqual(0);
      expect(note.iteration).toBe(1);
      expect(note.role).toBe((frame.flags & OpFlag.Request) === 0 ? 'response' : 'request');
    }
    expect(connected).toBeGreaterThan(500);
    const list = onlooker.conversations.list();
    // rping, two of ucmatose, rdma_client: told by CM. perftest and the pingpongs: by their traffic.
    expect(list.map(({ learnt }) => learnt).lastIndexOf('cm')).toBe(3);
    // UC has no responses that would join its two directions (11 and 12), and its perftest (15) has one direction only.
    const halves = list.filter(({ a, b }) => a.qpn < 0 || b.qpn < 0).map(({ connection }) => connection);
    expect(halves).toEqual([11, 12, 15]);
    // In rxe both guests count their queue pairs alike: equal numbers are those that belong together.
    for (const { a, b } of list) if (a.qpn >= 0 && b.qpn >= 0) expect(a.qpn).toBe(b.qpn);
  });
});
