/** The table of transport events: every one, as the report of the analyzer has them, also those that it omits. */
import { type CaptureTime, eventDetail, type TransportEvent } from 'rocev2/pcap';
import { Columns, epochNs, known, nonZero, type Table } from './schema.ts';

/** An event, and the time that its own counts from. */
export interface EventRow {
  readonly event: TransportEvent;
  /** Time of the first packet of the capture. */
  readonly start: CaptureTime;
}

const c = new Columns<EventRow>();
/** The ends say nothing without a conversation. */
const endOf = ({ event }: EventRow, end: 0 | 1): number | undefined => (event.conversation === 0 ? undefined : end);

/** The table. */
export const EVENTS: Table<EventRow> = {
  name: 'events',
  about: 'One row for each transport event, in the order in which they became certain.',
  key: [],
  columns: [
    ...c.origin(),
    c.text(
      'kind',
      'what happened: `loss`, `missing`, `unseen`, `reordering`, `copy`, `retransmission`, `timeout`, `nak`, `rnr-nak`, `implied-nak`, `ghost-ack`, `bad-icrc`, `ce-mark`, `cnp`',
      ({ event }) => event.kind,
    ),
    c.int64('time_ns', 'when it was seen or became certain, ns since 1970', ({ event, start }) =>
      epochNs(start, event.timeNs),
    ),
    c.int64('frame', 'the packet that shows it: key into `packets`; NULL: none', ({ event }) => nonZero(event.frame)),
    c.int64(
      'refers_to',
      'an earlier packet: the original of a retransmission, the NAK it reacts to; NULL: none',
      ({ event }) => known(event.refersTo),
    ),
    c.int32('conversation', 'key into `conversation_ends`; NULL: none', ({ event }) => nonZero(event.conversation)),
    c.int32('requester', 'the end (`side`) whose PSNs these are, 0 or 1', (row) => endOf(row, row.event.requester)),
    c.int32('sender', 'the end that sent the packet: of a NAK the responder', (row) => endOf(row, row.event.sender)),
    c.int32('psn', 'first PSN concerned; NULL: none', ({ event }) => known(event.psn)),
    c.int64('packets', 'how many packets it is about, 1 or more', ({ event }) => event.count),
    c.text(
      'cause',
      'of a retransmission: `nak`, `rnr`, `implied-nak`, `timeout`, `duplicate-request`, `unknown`',
      ({ event }) => event.cause,
    ),
    c.int64(
      'duration_ns',
      'how long it took: reaction to a NAK, wait before a timeout, from gap to NAK; NULL: unknown',
      ({ event }) => known(event.durationNs),
    ),
    c.text(
      'reason',
      'how it came about: `seen-then-nak`, `acknowledged`, `incomplete-capture` ... (docs/analyze.md)',
      ({ event }) => event.reason,
    ),
    c.flag(
      'named',
      'of a loss: a NAK or a repeated READ asked for its first packet by the PSN',
      ({ event }) => event.named === true,
    ),
    c.int32('syndrome', 'of a NAK: syndrome of the AETH, 0..255', ({ event }) => event.syndrome),
    c.text(
      'detail',
      'reason or syndrome in words: `remote access error`, `wait 0.32 ms`',
      ({ event }) => eventDetail(event) || undefined,
    ),
  ],
};
