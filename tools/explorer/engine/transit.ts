/**
 * How long packets are on their way between the place of the capture and each end, as far as one capture shows that.
 *
 * Owns the estimate: half of the shortest time in which an end was seen to answer. That includes what the end took to
 * answer, so it is an upper bound. An end that was never seen to answer has none.
 *
 * What counts as an answer: a response to a request; a request sent again after the NAK that asked for it; the next
 * message of connection management. A request that merely follows an ACK proves nothing: it need not have waited.
 */
import { Mark, Role } from 'rocev2/pcap';
import type { CaptureSession } from './session.ts';

/** Nanoseconds between the capture and ends 0 and 1; NaN: not known. */
export type Transit = readonly [number, number];

/** The estimate for a conversation. */
export function transitOf(session: CaptureSession, conversation: number): Transit {
  const shortest: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const ends = session.analysis?.conversations.find(({ id }) => id === conversation)?.ends;
  for (const side of [0, 1] as const) {
    const latency = ends?.[side].requester.ackLatency;
    const answering = side === 0 ? 1 : 0;
    if (latency !== undefined && latency.count > 0) shortest[answering] = latency.minNs;
  }
  causes(session, conversation, shortest);
  return [half(shortest[0]), half(shortest[1])];
}

/** NAKs with what they caused, and messages of connection management with the next one of the other end. */
function causes(session: CaptureSession, conversation: number, shortest: [number, number]): void {
  const { table } = session;
  const { values } = session.packetsOf(conversation);
  const nakNs: [number, number] = [Number.NaN, Number.NaN];
  let [messageNs, messageSender] = [Number.NaN, -1];
  for (let at = 0; at < Math.min(values.length, MOST_PACKETS); at++) {
    const index = values[at] ?? 0;
    const marks = table.marks[index] ?? 0;
    const timeNs = table.timeNs[index] ?? 0;
    const sender = table.sender[index] === 1 ? 1 : 0;
    const other = sender === 0 ? 1 : 0;
    if (table.role[index] === Role.Management) {
      if (messageSender === other) shortest[sender] = Math.min(shortest[sender], timeNs - messageNs);
      [messageNs, messageSender] = [timeNs, sender];
    } else if ((marks & Mark.Nak) !== 0) {
      nakNs[other] = timeNs;
    } else if ((marks & Mark.Retransmission) !== 0 && (marks & Mark.AfterTimeout) === 0) {
      const waitedNs = timeNs - nakNs[sender];
      if (waitedNs >= 0) shortest[sender] = Math.min(shortest[sender], waitedNs);
      nakNs[sender] = Number.NaN;
    }
  }
}

function half(shortestNs: number): number {
  return Number.isFinite(shortestNs) ? Math.max(0, shortestNs / 2) : Number.NaN;
}

const MOST_PACKETS = 200_000;
