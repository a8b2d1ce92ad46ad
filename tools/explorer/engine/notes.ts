/**
 * The decisions and rates that the trace of a device has beside its packets: decisions for the ladder of a
 * conversation, rates for its lanes.
 *
 * Owns which conversation a note belongs to, and its text. A capture has no notes.
 */
import { psnDiff } from 'rocev2/packets';
import { Direction } from 'rocev2/pcap';
import type { TraceEvent } from 'rocev2/trace';
import type { LadderNote } from '../ladder/rows.ts';
import type { TracedRates } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/** Decisions of the device in this conversation, in order of time; empty for a capture. */
export function notesOf(session: CaptureSession, conversation: number): LadderNote[] {
  const device = deviceOf(session, conversation);
  if (device === undefined) return [];
  const notes: LadderNote[] = [];
  for (const event of session.notes) {
    if (event.data['qpn'] !== device.qpn) continue;
    const text = wordsOf(event, (psn, requester) => relative(session, conversation, psn, requester), device.side);
    if (text !== '') notes.push({ timeNs: event.timeNs - session.firstNs, side: device.side, text });
  }
  return notes;
}

/** Rates that the device used in this conversation; null where the trace has none. */
export function tracedRates(session: CaptureSession, conversation: number): TracedRates | null {
  const device = deviceOf(session, conversation);
  if (device === undefined) return null;
  const events = session.notes.filter(({ name, data }) => name === RATE_UPDATED && data['qpn'] === device.qpn);
  if (events.length === 0) return null;
  const step = Math.ceil(events.length / MOST_POINTS);
  const kept = events.filter((_, index) => index % step === 0);
  return {
    timeNs: Float64Array.from(kept, ({ timeNs }) => timeNs - session.firstNs),
    rateBps: Float64Array.from(kept, ({ data }) => numberOf(data['rate'])),
    targetBps: Float64Array.from(kept, ({ data }) => numberOf(data['target'])),
    alpha: Float64Array.from(kept, ({ data }) => numberOf(data['alpha'])),
  };
}

/** The end that was traced: the one that sends what is outbound. */
function deviceOf(session: CaptureSession, conversation: number): { side: 0 | 1; qpn: number } | undefined {
  if (session.notes.length === 0) return undefined;
  const { table } = session;
  const ends = session.analysis?.conversations.find(({ id }) => id === conversation)?.ends;
  for (const index of session.packetsOf(conversation).values) {
    if (table.direction[index] === Direction.Unknown) continue;
    const sender = table.sender[index] === 1 ? 1 : 0;
    const side = table.direction[index] === Direction.Outbound ? sender : sender === 0 ? 1 : 0;
    return ends === undefined ? undefined : { side, qpn: ends[side].qpn };
  }
  return undefined;
}

type Relative = (psn: unknown, requester: 0 | 1) => string;

/** A decision in a few words; empty for what packets and lanes show anyway. */
function wordsOf({ name, data }: TraceEvent, psn: Relative, side: 0 | 1): string {
  const peer = side === 0 ? 1 : 0;
  switch (name) {
    case 'roce:state_updated':
      return `${data['old']} to ${data['new']}`;
    case 'roce:went_back':
      return `goes back to psn ${psn(data['psn'], side)}: ${data['trigger']}`;
    case 'roce:rnr_wait':
      return `waits ${data['wait']} ms for the receiver, psn ${psn(data['psn'], side)}`;
    case 'roce:request_judged':
      return `${data['judgement']}: psn ${psn(data['psn'], peer)}`;
    case 'roce:completed':
      return `${data['opcode']} completed: ${data['status']}`;
    case 'roce:notified':
      return 'slows down for a CNP';
    default:
      return '';
  }
}

/** A PSN of the wire as the ladder counts it, where a packet near it is known. */
function relative(session: CaptureSession, conversation: number, psn: unknown, requester: 0 | 1): string {
  const { table } = session;
  if (typeof psn !== 'number') return '?';
  for (const index of session.packetsOf(conversation).values) {
    const counted = table.relativePsn[index] ?? Number.NaN;
    if (Number.isNaN(counted) || table.requester[index] !== requester) continue;
    return `${counted + psnDiff(psn, table.psn[index] ?? 0)}`;
  }
  return `${psn} of the wire`;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : Number.NaN;
}

const RATE_UPDATED = 'roce:rate_updated';
const MOST_POINTS = 20_000;
