/**
 * Goal: a bump is a congested switch when told so: it marks by its queue, notifies senders when asked, and capture and
 * account tell of both. Method: two devices of ours on unix sockets, a bump between them, all in this process; captures
 * read by this project and by tshark.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WireRule } from '../../src/faults/rule.ts';
import { verifyCapture } from '../../tools/interop/verify.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { framesMatching } from '../support/bump-packets.ts';
import { type Outcome, runTransfer, type StationOptions } from '../support/bump-station.ts';
import { describeWith } from '../support/need.ts';

const ECT = 2;
const MARK: WireRule = { name: 'mark', on: { opcode: ['write', 'read-response'] }, do: 'mark-ce' };
/** 4.096 us * 2^20 = 4.3 s: nothing is lost here, so nothing is to be repeated. */
const PATIENT = 20;
/** Longer than a transfer takes. */
const ONE_IN_ALL = { minTimeBetweenCnpsNs: 60e9 };

let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-bump-congestion-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const run = (opcode: 'write' | 'read', options: StationOptions, rules: readonly WireRule[] = [MARK]) =>
  runTransfer(directory, opcode, rules, { trafficClass: ECT, ackTimeout: PATIENT, ...options });

/** CNPs as tshark sees them leave. */
async function cnps({ capture }: Outcome): Promise<Record<string, string>[]> {
  const names = {
    frame: 'frame.number',
    side: 'frame.interface_name',
    dscp: 'ip.dsfield.dscp',
    ecn: 'ip.dsfield.ecn',
    to: 'ip.dst',
    pkey: 'infiniband.bth.p_key',
    qpn: 'infiniband.bth.destqp',
    length: 'udp.length',
    comment: 'frame.comment',
  };
  const rows = await tsharkRows(capture, Object.values(names), { filter: 'infiniband.bth.opcode == 0x81' });
  return rows.map((row) =>
    Object.fromEntries(Object.entries(names).map(([name, field]) => [name, row.get(field)?.[0] ?? ''])),
  );
}

describeWith('tshark', 'a bump that notifies', () => {
  it('sends a CNP to the writer whose packets it marked, and says in the capture for which', async () => {
    const outcome = await run('write', { notify: ONE_IN_ALL });
    const { account, capture } = outcome;
    const [connection] = account.connections;
    const [first] = account.events;
    const seen = await cnps(outcome);
    expect(seen).toMatchObject([{ side: 'a', to: '10.0.0.1', dscp: '48', ecn: '0', pkey: '65535', length: '40' }]);
    expect(Number(seen[0]?.['qpn'])).toBe(connection?.a.qpn);
    expect(seen[0]?.['comment']).toBe(`sent a congestion notification for frame ${first?.in}`);
    expect(account.notifications).toEqual({
      'a-to-b': { marked: 8, cnpSent: 1, filtered: 7, unknownSender: 0, unsent: 0 },
      'b-to-a': { marked: 0, cnpSent: 0, filtered: 0, unknownSender: 0, unsent: 0 },
    });
    expect(account.directions['a-to-b']).toMatchObject({ marked: 8, notified: 1 });
    const { frames, forwarded } = account.directions['b-to-a'];
    expect(forwarded).toBe(frames + 1);
    expect(account.events.filter(({ about }) => about !== undefined)).toMatchObject([
      {
        direction: 'b-to-a',
        opcode: 'CNP',
        qpn: connection?.a.qpn,
        about: first?.in,
        out: [Number(seen[0]?.['frame'])],
      },
    ]);
    const touched = account.events.flatMap(({ in: came, out = [] }) => [...(came === undefined ? [] : [came]), ...out]);
    expect(await framesMatching(capture, 'frame.comment')).toEqual(touched.toSorted((x, y) => x - y));
    expect((await verifyCapture(capture)).faults).toEqual([]);
  });

  it('sends one for each marked packet without an interval, and to the responder of a READ', async () => {
    const outcome = await run('read', { notify: { minTimeBetweenCnpsNs: 0, cnpDscp: 46, becn: 0 } });
    const seen = await cnps(outcome);
    expect(seen).toHaveLength(8);
    for (const { side, dscp, qpn } of seen)
      expect([side, dscp, Number(qpn)]).toEqual(['b', '46', outcome.account.connections[0]?.b.qpn]);
  });

  it('is silent unless asked, and has nothing to say of packets that are not ECN-capable', async () => {
    expect(await cnps(await run('write', {}))).toEqual([]);
    const plain = await run('write', { notify: true, trafficClass: 0 });
    expect(await cnps(plain)).toEqual([]);
    expect(plain.account.notifications?.['a-to-b'].marked).toBe(0);
  });
});

describeWith('tshark', 'a bump with a rate', () => {
  it('marks by its queue what leaves it while others wait, and leaves the last one alone', async () => {
    // 2 ms a packet: all eight have come in before the first has left.
    const faults = { aToB: { rateBps: 4e6, ecn: { kminBytes: 0, kmaxBytes: 0, pmax: 1 } } };
    const outcome = await run('write', { faults, notify: ONE_IN_ALL }, []);
    const { account, packets, capture } = outcome;
    const arrived = packets.filter(({ side, from, ecn }) => side === 'b' && from === 'a' && ecn > 0);
    expect(arrived.map(({ psn }) => psn)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const marked = arrived.filter(({ ecn }) => ecn === 3);
    expect(marked.length).toBeGreaterThan(0);
    expect(arrived.at(-1)?.ecn).toBe(ECT);
    const { counters } = { counters: account.directions['a-to-b'] };
    expect(counters.marked).toBe(marked.length);
    expect(counters.peakQueueBytes).toBeGreaterThan(1000);
    const events = account.events.filter(({ action }) => action.startsWith('marked CE by the queue'));
    expect(events.flatMap(({ out }) => out)).toEqual(marked.map(({ frame }) => frame));
    for (const { comment } of marked)
      expect(comment).toMatch(/^marked CE by the queue, \d+ bytes behind it; came in as/);
    // What came in is untouched: it was decided later.
    const came = packets.filter(({ side, from }) => side === 'a' && from === 'a');
    expect(came.every(({ comment }) => comment === '')).toBe(true);
    expect(account.notifications?.['a-to-b']).toMatchObject({ marked: marked.length, cnpSent: 1 });
    expect((await verifyCapture(capture)).faults).toEqual([]);
  });
});
