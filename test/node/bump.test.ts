/**
 * Goal: what a rule says happens on the wire between two devices, the protocol repairs it, and capture and account tell
 * the same story. Method: two devices of ours on unix sockets, a bump between them, all in this process; captures read
 * back by this project and by tshark.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WireRule } from '../../src/faults/rule.ts';
import { Medium } from '../../src/index.ts';
import { Bump } from '../../src/node/bump.ts';
import { QemuLink } from '../../src/node/links/qemu.ts';
import { SimulatedNetwork } from '../../src/sim/index.ts';
import { runBump } from '../../tools/bump/run.ts';
import { verifyCapture } from '../../tools/interop/verify.ts';
import { batchOf, Collector, frame } from '../sim/support.ts';
import { brief, framesMatching } from '../support/bump-packets.ts';
import { type Outcome, openStation, runTransfer, type Station, type StationOptions } from '../support/bump-station.ts';
import { describeWith } from '../support/need.ts';

let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-bump-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const makeStation = (rules: readonly WireRule[]): Promise<Station> => openStation(directory, rules);

/** Lets device a transfer once through a bump with these rules. */
const run = (opcode: 'write' | 'read', rules: readonly WireRule[], options: StationOptions = {}): Promise<Outcome> =>
  runTransfer(directory, opcode, rules, options);

/** What came in on a side, in order. */
const sent = ({ packets }: Outcome, side: 'a' | 'b'): string[] =>
  packets.filter((packet) => packet.side === side && packet.from === side).map(brief);

/** What left towards a side, in order. */
const arrived = ({ packets }: Outcome, side: 'a' | 'b'): string[] =>
  packets.filter((packet) => packet.side === side && packet.from !== side).map(brief);

const WRITE = (from: number): string[] =>
  Array.from({ length: 8 - from }, (_, i) => i + from).map((psn) => {
    if (psn === 0) return 'WRITE First 0';
    return psn === 7 ? 'WRITE Last 7' : `WRITE Middle ${psn}`;
  });

const once = { iteration: 1 } as const;

describeWith('tshark', 'a bump between two devices', () => {
  it('forwards everything in order when nothing is to be done, and learns the connection', async () => {
    const outcome = await run('write', []);
    expect(arrived(outcome, 'b')).toEqual(WRITE(0));
    expect(sent(outcome, 'a')).toEqual(WRITE(0));
    expect(outcome.account).toMatchObject({ events: [], connections: [{ connection: 1, learnt: 'cm' }] });
    const { frames, forwarded } = outcome.account.directions['a-to-b'];
    expect(forwarded).toBe(frames);
    expect(outcome.packets.every(({ comment }) => comment === '')).toBe(true);
  });

  it('drops the third packet of a WRITE once: NAK, go-back-N, and the WRITE completes', async () => {
    const outcome = await run('write', [{ name: 'third', on: { opcode: 'write', psn: 2, ...once }, do: 'drop' }]);
    expect(arrived(outcome, 'b').slice(0, 2)).toEqual(WRITE(0).slice(0, 2));
    expect(arrived(outcome, 'b')).toEqual([...WRITE(0).filter((_, psn) => psn !== 2), ...WRITE(2)]);
    expect(sent(outcome, 'b')).toEqual(['NAK 0x60 2', 'ACK 7']);
    expect(outcome.account.rules).toMatchObject([{ name: 'third', matches: 1, applied: 1 }]);
  });

  it('drops the first repetition too, when told so by iteration', async () => {
    const rules: WireRule[] = [1, 2].map((iteration) => ({ on: { opcode: 'write', psn: 2, iteration }, do: 'drop' }));
    const outcome = await run('write', rules);
    expect(sent(outcome, 'a').filter((name) => name === 'WRITE Middle 2')).toHaveLength(3);
    expect(outcome.account.events.map(({ iteration }) => iteration)).toEqual([1, 2]);
  });

  it('drops a middle packet of a READ response, which the requester asks for again', async () => {
    const outcome = await run('read', [{ on: { opcode: 'read-response', psn: 3, ...once }, do: 'drop' }]);
    expect(sent(outcome, 'a')).toEqual(['READ 0 +8192', 'READ 3 +5120']);
    expect(outcome.account.events).toMatchObject([{ direction: 'b-to-a', relativePsn: 3, iteration: 1 }]);
  });

  it('corrupts a packet, which is dropped for its ICRC and sent again', async () => {
    const outcome = await run('write', [{ on: { opcode: 'write', psn: 4, ...once }, do: 'corrupt' }]);
    expect(sent(outcome, 'b')).toEqual(['NAK 0x60 4', 'ACK 7']);
    expect(arrived(outcome, 'b').length).toBe(8 + 4);
  });

  it('duplicates a packet, and the copy changes nothing', async () => {
    const outcome = await run('write', [{ on: { opcode: 'RC RDMA WRITE First' }, do: 'duplicate', copies: 2 }]);
    expect(arrived(outcome, 'b').slice(0, 4)).toEqual([
      'WRITE First 0',
      'WRITE First 0',
      'WRITE First 0',
      'WRITE Middle 1',
    ]);
    expect(outcome.account.events).toMatchObject([{ out: { length: 3 } }]);
  });

  it('holds a packet back until others have passed', async () => {
    const outcome = await run('write', [{ on: { opcode: 'write', psn: 1, ...once }, do: 'reorder', behind: 3 }]);
    expect(arrived(outcome, 'b').slice(0, 5)).toEqual([0, 2, 3, 4, 1].map((psn) => WRITE(0)[psn]));
  });

  it('delays a packet by real time', async () => {
    const rule: WireRule = { on: { opcode: 'write', psn: 7, ...once }, do: 'delay', delayNs: 5e6 };
    const outcome = await run('write', [rule]);
    const [event] = outcome.account.events;
    const [entered, left] = [event?.in, event?.out?.[0]].map((number) =>
      outcome.packets.find(({ frame: found }) => found === number),
    );
    expect((left ?? raise()).seconds - (entered ?? raise()).seconds).toBeGreaterThanOrEqual(0.005);
    expect(arrived(outcome, 'b')).toEqual(WRITE(0));
  });

  it('releases a packet held back when no other comes', async () => {
    const rule: WireRule = { on: { opcode: 'write', psn: 7, ...once }, do: 'reorder', delayNs: 3e6 };
    const outcome = await run('write', [rule]);
    expect(outcome.account.events).toMatchObject([{ out: { length: 1 } }]);
  });

  it('rewrites a field and makes the ICRC right again, so that the receiver believes it', async () => {
    const rule: WireRule = { on: { opcode: 'write', psn: 3, ...once }, do: 'rewrite', set: { 'bth.psnOffset': 1 } };
    const outcome = await run('write', [rule]);
    expect(arrived(outcome, 'b').slice(2, 5)).toEqual(['WRITE Middle 2', 'WRITE Middle 4', 'WRITE Middle 4']);
    expect(sent(outcome, 'b')).toEqual(['NAK 0x60 3', 'ACK 7']);
  });

  it('marks packets of an ECN-capable flow CE, and no others', async () => {
    const rule: WireRule = { on: { opcode: 'write' }, do: 'mark-ce', times: 3 };
    const { account, packets } = await run('write', [rule], { trafficClass: 2 });
    const marked = packets.filter(({ side, ecn }) => side === 'b' && ecn === 3);
    expect(marked.map(brief)).toEqual(WRITE(0).slice(0, 3));
    expect(account.rules).toMatchObject([{ applied: 3, impossible: 0 }]);
    const plain = await run('write', [rule]);
    expect(plain.account.rules).toMatchObject([{ applied: 0, impossible: 8 }]);
    expect(plain.account.events).toEqual([]);
  });

  it('works on IPv6 as well', async () => {
    const outcome = await run('write', [{ on: { opcode: 'write', psn: 2, ...once }, do: 'drop' }], { ipVersion: 6 });
    expect(outcome.account.connections).toMatchObject([{ learnt: 'cm', a: { address: 'fd00::1' } }]);
    expect(sent(outcome, 'b')).toEqual(['NAK 0x60 2', 'ACK 7']);
  });

  it('loses, duplicates and damages by chance, and the same bytes arrive all the same', async () => {
    const faults = { aToB: { loss: 0.1, duplicate: 0.1, reorder: 0.1, reorderDelayNs: 2e6 }, bToA: { loss: 0.1 } };
    const { account } = await run('write', [], { faults, ackTimeout: 13 });
    const { frames, dropped } = account.directions['a-to-b'];
    expect(account.events.length).toBeGreaterThan(0);
    expect(frames).toBeGreaterThan(dropped);
  });
});

describeWith('tshark', 'the capture and the account of a bump', () => {
  it('name the same frames', async () => {
    const { account, capture, packets } = await run('write', [
      { name: 'gone', on: { opcode: 'write', psn: 2, ...once }, do: 'drop' },
      { name: 'twice', on: { opcode: 'write', psn: 5, ...once }, do: 'duplicate' },
      { name: 'late', on: { opcode: 'ack' }, do: 'delay', delayNs: 1e6 },
    ]);
    const byNumber = new Map(packets.map((packet) => [packet.frame, packet]));
    expect(account.events.length).toBeGreaterThanOrEqual(3);
    for (const event of account.events) {
      const seen = [event.in ?? 0, ...(event.out ?? [])].map((frame) => byNumber.get(frame) ?? raise());
      for (const packet of seen) {
        expect(packet.psn).toBe(event.relativePsn);
        expect(packet.connection).toBe(event.connection);
        expect(packet.comment).toContain(event.action);
        expect(packet.comment).toContain(`iteration ${event.iteration}`);
      }
      expect(seen[0]?.side).toBe(event.direction === 'a-to-b' ? 'a' : 'b');
      expect(new Set(seen.slice(1).map(({ side }) => side))).toEqual(
        new Set(event.action.startsWith('dropped') ? [] : [event.direction === 'a-to-b' ? 'b' : 'a']),
      );
    }
    const touched = account.events.flatMap((event) => [event.in ?? 0, ...(event.out ?? [])]);
    expect(await framesMatching(capture, 'frame.comment')).toEqual(touched.toSorted((x, y) => x - y));
    expect((await verifyCapture(capture, { findings: ['sequence-error'] })).faults).toEqual([]);
  });

  it('are written when the bump is stopped, once', async () => {
    const station = await makeStation([]);
    const [first, second] = await Promise.all([station.close(), station.running.stop()]);
    expect(second).toBe(first);
    expect(JSON.parse(readFileSync(station.accountPath, 'utf8'))).toEqual(first);
    expect(await station.running.closed).toBeUndefined();
  });
});

describe('a bump that loses a link', () => {
  it('says so in the account, which is written all the same', async () => {
    const paths = [join(directory, 'gone-a'), join(directory, 'gone-b')] as const;
    const far = new QemuLink({ path: paths[0] });
    await far.start(new Collector());
    const accountPath = join(directory, 'gone.json');
    const [a, b] = [new QemuLink({ path: paths[0], connect: true }), new QemuLink({ path: paths[1] })];
    const running = await runBump({ a, b, accountPath });
    await far.close();
    const reason = await running.closed;
    expect((await running.stop()).error).toBe(reason?.message);
    expect(JSON.parse(readFileSync(accountPath, 'utf8'))).toMatchObject({ error: reason?.message, events: [] });
  });
});

describe('Bump', () => {
  it('refuses links that are not Ethernet, and rules that make no sense, by name', () => {
    const [a, b] = [new QemuLink({ path: '/nonexistent/a' }), new QemuLink({ path: '/nonexistent/b' })];
    const ip = new SimulatedNetwork({ medium: Medium.Ip }).attach('ip');
    expect(() => new Bump({ a, b: ip })).toThrow(/^ip carries no Ethernet frames/);
    const rules = [{ name: 'x', on: { opcode: 'wrote' }, do: 'drop' }] as const;
    expect(() => new Bump({ a, b, rules })).toThrow(/^rule 1 \(x\): on\.opcode is "wrote"/);
    expect(() => new Bump({ a, b, faults: { aToB: { loss: 2 } } })).toThrow(/^fault loss is 2/);
    expect(() => new Bump({ a, b, notify: { cnpDscp: 99 } })).toThrow(/^cnpDscp is/);
  });

  it('rejects when a link cannot be had, and closes the other', async () => {
    const path = join(directory, 'lonely');
    const bump = new Bump({ a: new QemuLink({ path }), b: new QemuLink({ path: '/nonexistent/b' }) });
    await expect(bump.start()).rejects.toMatchObject({ code: 'ERR_ROCE_LINK_UNAVAILABLE' });
    const again = new QemuLink({ path });
    await again.start(new Collector());
    await again.close();
  });

  it('ends with the reason when a link is lost', async () => {
    const paths = [join(directory, 'lost-a'), join(directory, 'lost-b')] as const;
    const far = new QemuLink({ path: paths[0] });
    await far.start(new Collector());
    const bump = new Bump({ a: new QemuLink({ path: paths[0], connect: true }), b: new QemuLink({ path: paths[1] }) });
    await bump.start();
    await far.close();
    expect((await bump.closed)?.code).toBe('ERR_ROCE_CLOSED');
    await bump.close();
  });

  it('keeps what a slow side does not take, up to a bound, and drops the rest as overflow', async () => {
    // A simulated network moves only when told: 8 frames fill it.
    const slow = new SimulatedNetwork({ maxFrames: 8 });
    const fast = new SimulatedNetwork();
    const bump = new Bump({ a: fast.attach('a'), b: slow.attach('b'), capacity: 20 });
    await bump.start();
    const [sender, receiver] = [fast.attach('sender'), slow.attach('receiver')];
    const sink = new Collector();
    await sender.start(new Collector());
    await receiver.start(sink);
    for (let tag = 0; tag < 64; tag++) sender.send(batchOf(frame(1, 2, tag)), 0);
    fast.deliverDue(1e9);
    expect(bump.counters['a-to-b']).toMatchObject({ frames: 64, forwarded: 8, overflow: 44, dropped: 44 });
    for (let time = 1e4; time < 2e5; time += 1e4) slow.deliverDue(time);
    expect(sink.tags).toEqual(Array.from({ length: 20 }, (_, tag) => tag));
    await bump.close();
  });

  it('forwards what is not RoCE, in both directions, and drops what is too long for the other side', async () => {
    const wide = new SimulatedNetwork();
    const narrow = new SimulatedNetwork();
    const bump = new Bump({ a: wide.attach('a', { mtu: 9000 }), b: narrow.attach('b') });
    await bump.start();
    const [left, right] = [wide.attach('left', { mtu: 9000 }), narrow.attach('right')];
    const sinks = [new Collector(), new Collector()] as const;
    await left.start(sinks[0]);
    await right.start(sinks[1]);
    left.send(batchOf(frame(1, 2, 7), frame(1, 2, 8, 4000), frame(1, 2, 9)), 0);
    right.send(batchOf(frame(2, 1, 5)), 0);
    for (let time = 1e4; time < 1e5; time += 1e4) {
      wide.deliverDue(time);
      narrow.deliverDue(time);
    }
    expect([sinks[0].tags, sinks[1].tags]).toEqual([[5], [7, 9]]);
    expect(bump.counters['a-to-b'].oversize).toBe(1);
    await bump.close();
  });
});

function raise(): never {
  throw new Error('no such frame in the capture');
}
