/** Transport events, a line each. Owns the layout. */
import { type Analysis, eventDetail, type TransportEvent } from 'rocev2/pcap';
import { grouped } from '../table.ts';
import { durationText, wrap } from './words.ts';

/** A heading and all events that the analysis kept, in the order in which they became certain. */
export function eventLines({ events, eventsOmitted }: Analysis): string[] {
  const omitted = eventsOmitted === 0 ? [] : [`  ${grouped(eventsOmitted)} more were not kept`];
  if (events.length === 0) return ['no transport events', ...omitted];
  return [HEADING, ...events.flatMap(eventLine), ...omitted];
}

function eventLine({ timeNs, frame, conversation, requester, ...event }: TransportEvent): string[] {
  const start = [
    (timeNs / 1e9).toFixed(9).padStart(14),
    String(frame).padStart(8),
    (conversation === 0 ? '' : `${conversation}.${requester}`).padStart(7),
    event.kind.padEnd(14),
  ];
  return wrap(eventWords(event), `${start.join(' ')} `);
}

/** What happened, without its time and place: "psn 108, 10 packets, cause nak, of frame 14, after 7.79 us". */
export function eventWords({ psn, count, cause, refersTo, durationNs, ...event }: EventWords): string {
  const detail = eventDetail(event);
  return [
    ...(psn < 0 ? [] : [count === 1 ? `psn ${psn}` : `psn ${psn}, ${grouped(count)} packets`]),
    ...(detail === '' ? [] : [detail]),
    ...(cause === undefined ? [] : [`cause ${cause}`]),
    ...(refersTo > 0 ? [`of frame ${refersTo}`] : []),
    ...(durationNs < 0 ? [] : [`after ${durationText(durationNs)}`]),
  ].join(', ');
}

type EventWords = Pick<TransportEvent, 'psn' | 'count' | 'cause' | 'refersTo' | 'durationNs'> &
  Parameters<typeof eventDetail>[0];

const HEADING = `${'seconds'.padStart(14)} ${'frame'.padStart(8)} ${'conv.end'.padStart(7)} event`;
