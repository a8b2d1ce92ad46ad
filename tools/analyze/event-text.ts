/** Transport events, a line each. Owns the layout. */
import type { Analysis, TransportEvent } from '../../pcap/analysis/types.ts';
import { grouped } from '../table.ts';
import { durationText } from './words.ts';

/** A heading and all events that the analysis kept, in the order in which they became certain; `conversation` leaves out those of others. */
export function eventLines({ events, eventsOmitted }: Analysis, conversations: readonly number[]): string[] {
  const wanted =
    conversations.length === 0 ? events : events.filter(({ conversation }) => conversations.includes(conversation));
  const omitted = eventsOmitted === 0 ? [] : [`  ${grouped(eventsOmitted)} more were not kept`];
  if (wanted.length === 0) return ['no transport events', ...omitted];
  return [HEADING, ...wanted.map(eventLine), ...omitted];
}

function eventLine({ timeNs, frame, kind, conversation, requester, psn, count, ...rest }: TransportEvent): string {
  const start = [
    (timeNs / 1e9).toFixed(9).padStart(14),
    String(frame).padStart(8),
    (conversation === 0 ? '' : `${conversation}.${requester}`).padStart(7),
    kind.padEnd(14),
    psn < 0 ? '' : count === 1 ? `psn ${psn}` : `psn ${psn}, ${grouped(count)} packets`,
  ];
  return `${start.join('  ')}${detailText(rest)}`.trimEnd();
}

function detailText({
  refersTo,
  cause,
  durationNs,
  detail,
}: Pick<TransportEvent, 'refersTo' | 'cause' | 'durationNs' | 'detail'>): string {
  const after = durationNs < 0 ? '' : `  after ${durationText(durationNs)}`;
  return `${detail === '' ? '' : `  ${detail}`}${cause === undefined ? '' : `  cause ${cause}`}${refersTo > 0 ? `  of frame ${refersTo}` : ''}${after}`;
}

const HEADING = `${'seconds'.padStart(14)}  ${'frame'.padStart(8)}  ${'conv.end'.padStart(7)} event`;
