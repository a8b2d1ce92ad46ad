/**
 * What the analyzer says of a run between guests, held against what the bump did.
 *
 * Owns the comparison for requests, by `../judge.ts`, and for ACK timeouts. `responses.ts` has that of READ responses,
 * `single-frames.ts` that of single frames.
 */
import { Frame, FrameStatus, Medium, parseFrame } from 'rocev2/packets';
import type { Analysis, ConversationReport, TransportEvent } from 'rocev2/pcap';
import { analyze, type Judgement, judge, type NetworkFaults, noJudgement } from '../judge.ts';
import { Recording } from '../recording.ts';
import { captureOf, captureOfBoth, GUEST_VANTAGES, type GuestVantage, interleaved } from './capture.ts';
import { casesOf, type GuestCase } from './cases.ts';
import { CLIENT_ADDRESS, type WireFrame } from './pair.ts';
import { ACK_TIMEOUT } from './plan.ts';
import { judgeResponses } from './responses.ts';
import { noShare, type Share } from './share.ts';
import { type FrameRow, judgeArrivals, judgePassages } from './single-frames.ts';

/** The figures of one kind, seen from one place. */
export interface GuestRow {
  readonly kind: string;
  readonly vantage: GuestVantage;
  runs: number;
  readonly judgement: Judgement;
  /** READ responses that did not arrive, as far as this place can know of them. */
  readonly responses: Share;
  /** ACK timeouts that are told, and those of them that were shorter than agreed. */
  timeouts: number;
  tooShort: number;
  /** Findings that are errors: nothing here ends a connection. */
  errors: string[];
  /** Verdicts that are wrong or missing. */
  cases: GuestCase[];
}

/** All rows that a run adds to. */
export interface GuestRows {
  readonly requests: Readonly<Record<GuestVantage, GuestRow>>;
  readonly frames: readonly FrameRow[];
}

/** Nothing judged yet. */
export function newGuestRow(kind: string, vantage: GuestVantage): GuestRow {
  const judgement = noJudgement();
  return { kind, vantage, runs: 0, judgement, responses: noShare(), timeouts: 0, tooShort: 0, errors: [], cases: [] };
}

/** A run, and what is wrong with its network. */
export interface GuestRun {
  readonly seed: number;
  readonly frames: readonly WireFrame[];
  readonly faults: NetworkFaults;
}

/** Adds what the captures of one run tell. */
export function judgeGuestRun({ seed, frames, faults }: GuestRun, rows: GuestRows): void {
  const sides = ([0, 1] as const).map((side) => {
    const capture = captureOf(frames, side);
    const analysis = analyze(capture.packets);
    judgeArrivals(capture, analysis, rows.frames);
    const serials = capture.frames.map(({ serial }) => serial);
    return { analysis, serials, events: eventsBySide(analysis) };
  });
  const both = captureOfBoth(frames);
  judgePassages(both, analyze(both.packets), rows.frames);
  const damaged = damagedPsns(frames);
  for (const requester of [0, 1] as const) {
    // The requester's own counter is not known. What is told there stands for it.
    const isTimeout = ({ kind, requester: end }: TransportEvent) => kind === 'timeout' && end === requester;
    const run = recordingOf(frames, requester).result(sides[requester]?.events.filter(isTimeout).length ?? 0);
    for (const vantage of GUEST_VANTAGES) {
      const row = rows.requests[vantage];
      const seen = sides[vantage === 'requester' ? requester : 1 - requester];
      if (seen === undefined) continue;
      const { analysis } = seen;
      if (requester === 0) {
        row.runs++;
        row.errors.push(...analysis.findings.flatMap(({ severity, id }) => (severity === 'error' ? [id] : [])));
      }
      // What came damaged is in the capture of its receiver, which says so and speaks of no loss.
      const serials = { ...run.serials, [vantage]: seen.serials };
      const shown = { ...run, serials, gaps: run.gaps.filter(({ psn }) => !damaged.has(psn)) };
      const events = seen.events.map((event) => asRequester(event, requester));
      const place = { seed, vantage, requester };
      row.cases.push(...casesOf(judge(shown, { vantage, analysis: { events }, faults }, row.judgement), place));
      judgeResponses(frames, { requester, vantage, analysis: seen }, row.responses);
      countTimeouts(analysis, seen.events, place, row);
    }
  }
}

/** Events of the one reliable connection, whose ends are sides. */
function eventsBySide({ events, conversations }: Analysis): TransportEvent[] {
  return conversations.flatMap((conversation) => {
    const { id, service } = conversation;
    if (service !== 'RC') return [];
    const client = clientEnd(conversation);
    return events
      .filter((event) => event.conversation === id)
      .map((event) => ({ ...event, requester: side(event.requester, client), sender: side(event.sender, client) }));
  });
}

function clientEnd({ ends: [first] }: ConversationReport): 0 | 1 {
  return first.address === CLIENT_ADDRESS ? 0 : 1;
}

const side = (end: 0 | 1, client: 0 | 1): 0 | 1 => (end === client ? 0 : 1);

/** For `judge`, whose requester is end 0. */
function asRequester(event: TransportEvent, requester: 0 | 1): TransportEvent {
  return { ...event, requester: side(event.requester, requester), sender: side(event.sender, requester) };
}

function recordingOf(frames: readonly WireFrame[], requester: 0 | 1): Recording {
  const recording = new Recording();
  for (const { timeNs, bytes, side: own, direction, serial, did } of interleaved(frames))
    recording.frame({
      timeNs,
      bytes,
      host: own === requester ? 'requester' : 'responder',
      direction,
      serial,
      dropped: did.includes('drop'),
      damaged: did.includes('corrupt'),
    });
  return recording;
}

/** PSNs that came to a receiver with a wrong ICRC, in either space. */
function damagedPsns(frames: readonly WireFrame[]): Set<number> {
  const psns = new Set<number>();
  const frame = new Frame();
  for (const { bytes, direction, did } of frames) {
    if (direction === 'in' || !did.includes('corrupt') || did.includes('drop')) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) === FrameStatus.Ok) psns.add(frame.psn);
  }
  return psns;
}

function countTimeouts(
  { conversations }: Analysis,
  events: readonly TransportEvent[],
  place: Pick<GuestCase, 'seed' | 'vantage' | 'requester'>,
  row: GuestRow,
): void {
  for (const { kind, conversation, requester: end, durationNs, psn, frame, refersTo } of events) {
    if (kind !== 'timeout' || end !== place.requester) continue;
    const cm = conversations.find(({ id }) => id === conversation)?.cm;
    row.timeouts++;
    const agreedNs = 4096 * 2 ** (cm?.ackTimeoutExponent ?? ACK_TIMEOUT);
    if (durationNs >= agreedNs - TIMER_STEPS_NS) continue;
    row.tooShort++;
    const [was, told] = [agreedNs, durationNs].map((ns) => `${Math.round(ns / 1e6)} ms`) as [string, string];
    row.cases.push({ ...place, psn, was: `timeout ${was}`, told: `timeout ${told}`, frame, refersTo });
  }
}

/** The timer of rdma_rxe counts steps of 4 ms, and begins within one. */
const TIMER_STEPS_NS = 8_000_000;
