/**
 * Goal: what the runs between guests count is what was done and what was told, neither more nor less. Method: captures
 * of sound transfers between guests go over a wire that is made up here, and analyses are made up as well;
 * `guests.long.test.ts` has the guests.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Frame, Medium, parseFrame } from '../../../packets/frame.ts';
import { Op } from '../../../packets/opcode.ts';
import type { TransportEvent } from '../../../pcap/index.ts';
import type { FaultAction } from '../../../src/faults/rule.ts';
import { captureOf, captureOfBoth, interleaved } from '../../../tools/truth/guests/capture.ts';
import { judgeGuestRun, newGuestRow } from '../../../tools/truth/guests/judge.ts';
import { CLIENT_ADDRESS, type WireFrame } from '../../../tools/truth/guests/pair.ts';
import { plannedRuns } from '../../../tools/truth/guests/plan.ts';
import { judgeResponses } from '../../../tools/truth/guests/responses.ts';
import { noShare, precisionOf, recallOf } from '../../../tools/truth/guests/share.ts';
import { judgeArrivals, judgePassages, newFrameRows } from '../../../tools/truth/guests/single-frames.ts';
import { guestText, readGuestTruths } from '../../../tools/truth/guests/table.ts';
import { analyze } from '../../../tools/truth/judge.ts';
import { PAGE, withGuestTable } from '../../../tools/truth/page.ts';
import { peerPackets } from '../../vectors/captures.ts';

const WRITES = '7.2-ib_write_bw-R.pcap.gz';
const READS = '6.12-ucx-rc-get.pcap.gz';
const PASSES_NS = 1_000;

it('docs/analyze.md has the figures of the last runs; if not: npm run docs:truth', () => {
  const page = readFileSync(PAGE, 'utf8');
  const cells = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
  expect(cells(page)).toBe(cells(withGuestTable(page, guestText(readGuestTruths()))));
});

it('there are 60 runs, each with a seed of its own', () => {
  const plan = [...plannedRuns(101), ...plannedRuns(201)];
  expect(plan).toHaveLength(60);
  expect(new Set(plan.map(({ seed }) => seed)).size).toBe(60);
  expect(readGuestTruths().reduce((sum, { runs }) => sum + runs, 0)).toBeGreaterThanOrEqual(59);
});

it('a sound wire has nothing to tell, and nothing is told of it', () => {
  const frames = wire(WRITES, {});
  const rows = { frames: newFrameRows(), requests: requestRows() };
  judgeGuestRun({ seed: 1, frames, faults: { lateNs: 0, doubles: false, losesAnswers: false, steady: false } }, rows);
  for (const { judgement, responses, timeouts, errors } of Object.values(rows.requests)) {
    for (const verdicts of Object.values(judgement)) expect(Object.values(verdicts)).toEqual([0, 0, 0, 0]);
    expect([responses, timeouts, errors]).toEqual([noShare(), 0, []]);
  }
  for (const { share } of rows.frames) expect(share).toEqual(noShare());
});

it('damage, copies and marks are found where frames arrive and on both sides', () => {
  const [first, second, third] = requestsOf(WRITES, Op.WriteMiddle).slice(20);
  const frames = wire(WRITES, { [first ?? 0]: 'corrupt', [second ?? 0]: 'duplicate', [third ?? 0]: 'mark-ce' });
  const rows = newFrameRows();
  const capture = captureOf(frames, 1);
  judgeArrivals(capture, analyze(capture.packets), rows);
  const both = captureOfBoth(frames);
  judgePassages(both, analyze(both.packets), rows);
  const found = rows.filter(({ share }) => share.real > 0).map((row) => `${row.action} ${row.vantage}`);
  const done = ['duplicate', 'corrupt', 'mark-ce'];
  expect(found).toEqual([...done.map((each) => `${each} receiver`), ...done.map((each) => `${each} both sides`)]);
  for (const { share } of rows) expect([share.found, share.falsely]).toEqual([share.real, 0]);
});

it('of a batch, a frame arrives before the next one is sent, and a held one after those that overtook it', () => {
  const [blank] = wire(WRITES, {});
  const frame = (serial: number, direction: 'out' | 'in', timeNs = 0) => ({
    ...(blank as WireFrame),
    serial,
    direction,
    timeNs,
  });
  const batch = [1, 2, 3].map((serial) => frame(serial, 'out'));
  const arrivals = [2, 3, 1].map((serial) => frame(serial, 'in'));
  const order = interleaved([...batch, ...arrivals, frame(4, 'out', 5), frame(4, 'in', 6)]);
  expect(order.map(({ serial, direction }) => `${direction} ${serial}`)).toEqual([
    ...['out 1', 'out 2', 'in 2', 'out 3', 'in 3', 'in 1'],
    ...['out 4', 'in 4'],
  ]);
});

it('what is not told lowers the recall, and what is told without cause the precision', () => {
  const [at = 0] = requestsOf(WRITES, Op.WriteMiddle).slice(20);
  const capture = captureOf(wire(WRITES, { [at]: 'corrupt' }), 1);
  const analysis = analyze(capture.packets);
  const silent = newFrameRows();
  judgeArrivals(capture, { ...analysis, events: [] }, silent);
  const shareOf = (rows: typeof silent) => rows.find(({ action }) => action === 'corrupt')?.share ?? noShare();
  expect([precisionOf(shareOf(silent)), recallOf(shareOf(silent))]).toEqual([undefined, 0]);
  const wild = newFrameRows();
  const events = analysis.events.flatMap((event) => [event, { ...event, frame: event.frame + 1 }]);
  judgeArrivals(capture, { ...analysis, events }, wild);
  expect([precisionOf(shareOf(wild)), recallOf(shareOf(wild))]).toEqual([0.5, 1]);
});

it('a READ response that was dropped is known to its requester by the gap, and to nobody else before it is asked for', () => {
  const [at = 0] = requestsOf(READS, Op.ReadResponseMiddle).slice(10);
  const frames = wire(READS, { [at]: 'drop' });
  const dropped = frames.filter(({ direction }) => direction === 'out')[at] as WireFrame;
  const { psn } = parsed(dropped);
  const requester = dropped.side === 0 ? 1 : 0;
  const judged = (vantage: 'requester' | 'responder', events: readonly TransportEvent[]) => {
    const share = noShare();
    judgeResponses(frames, { requester, vantage, analysis: { events } }, share);
    return share;
  };
  const loss = (lost: number): TransportEvent => ({
    ...{
      kind: 'loss',
      timeNs: 0,
      frame: 1,
      refersTo: -1,
      conversation: 1,
      requester,
      sender: dropped.side,
      durationNs: -1,
    },
    psn: lost,
    count: 1,
  });
  expect(judged('requester', [])).toEqual({ real: 1, found: 0, falsely: 0 });
  expect(judged('requester', [loss(psn)])).toEqual({ real: 1, found: 1, falsely: 0 });
  expect(judged('requester', [loss(psn + 1)])).toEqual({ real: 1, found: 0, falsely: 1 });
  expect(judged('responder', [loss(psn)])).toEqual(noShare());

  // It is asked for, sent again and dropped again, and asked for once more: two losses for the responder.
  const read = { ...frames.find((frame) => parsed(frame).opcode === Op.ReadRequest), bytes: asking(frames, psn) };
  const ask = [
    { ...(read as WireFrame), side: requester, direction: 'out' },
    { ...(read as WireFrame), side: dropped.side, direction: 'in' },
  ] as const;
  frames.splice(frames.indexOf(dropped) + 1, 0, ...ask, dropped, ...ask, ...ask);
  expect(judged('responder', [loss(psn)])).toEqual({ real: 2, found: 1, falsely: 0 });
  expect(judged('responder', [loss(psn), loss(psn)])).toEqual({ real: 2, found: 2, falsely: 0 });
  expect(judged('responder', [loss(psn), loss(psn), loss(psn)])).toEqual({ real: 2, found: 2, falsely: 1 });
});

/** A READ request that begins at `psn`. */
function asking(frames: readonly WireFrame[], psn: number): Uint8Array {
  const frame = frames.find((each) => parsed(each).opcode === Op.ReadRequest) as WireFrame;
  const bytes = whole(frame.bytes);
  new DataView(bytes.buffer).setUint32(parsed(frame).bthOffset + 8, psn);
  return bytes;
}

function requestRows() {
  return { requester: newGuestRow('made up', 'requester'), responder: newGuestRow('made up', 'responder') };
}

/** Indices of packets with an opcode. */
function requestsOf(name: string, opcode: number): number[] {
  return wire(name, {})
    .filter(({ direction }) => direction === 'out')
    .flatMap((frame, i) => (parsed(frame).opcode === opcode ? [i] : []));
}

function parsed({ bytes }: WireFrame): Frame {
  const frame = new Frame();
  parseFrame(
    bytes,
    new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    0,
    bytes.length,
    Medium.Ethernet,
    frame,
  );
  return frame;
}

/** The packets of a capture as both ends of a wire see them, which does something to some, by index. */
function wire(name: string, faults: Readonly<Record<number, FaultAction>>): WireFrame[] {
  return peerPackets(name).flatMap(({ bytes, seconds, nanoseconds }, i) => {
    const fault = faults[i];
    const timeNs = seconds * 1e9 + nanoseconds;
    const isClients = bytes.subarray(6, 12).at(-1) === Number(CLIENT_ADDRESS.at(-1));
    const [from, to] = isClients ? ([0, 1] as const) : ([1, 0] as const);
    const common = { serial: i, did: fault === undefined ? [] : [fault] };
    const sent: WireFrame = { ...common, timeNs, bytes: whole(bytes), side: from, direction: 'out' };
    const comes: WireFrame = {
      ...common,
      timeNs: timeNs + PASSES_NS,
      bytes: touched(sent, fault),
      side: to,
      direction: 'in',
    };
    if (fault === 'drop') return [sent];
    return fault === 'duplicate' ? [sent, comes, comes] : [sent, comes];
  });
}

/** Bytes that are not a part of others. */
function whole(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}

function touched(frame: WireFrame, fault: FaultAction | undefined): Uint8Array {
  const bytes = whole(frame.bytes);
  const { ipOffset, payloadOffset } = parsed(frame);
  if (fault === 'corrupt') bytes[payloadOffset] = (bytes[payloadOffset] ?? 0) ^ 1;
  if (fault === 'mark-ce') {
    // ECN lies in the last two bits; the checksum is that of 16 bit words.
    bytes[ipOffset + 1] = (bytes[ipOffset + 1] ?? 0) | 3;
    const view = new DataView(bytes.buffer);
    view.setUint16(ipOffset + 10, view.getUint16(ipOffset + 10) - 3);
  }
  return bytes;
}
