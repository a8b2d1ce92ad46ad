/**
 * Transport events as text: what their reason and their syndrome mean.
 *
 * Owns every sentence about an event. The tracker and the detectors use codes only. Rules: ref:wire#7 (NAK codes, RNR
 * timer).
 */
import { NAK_NAMES, SYNDROME_KIND_MASK, SYNDROME_VALUE_MASK, SyndromeKind } from '../../packets/aeth.ts';
import { RNR_TIMER_NS } from '../../packets/rnr-timer.ts';
import type { TransportEvent, TransportEventReason } from './types.ts';

/**
 * The details of an event beyond its kind and its numbers: "remote access error", "wait 0.32 ms". Empty where there are
 * none.
 */
export function eventDetail({
  reason,
  syndrome,
  among = [],
  amongCount = 0,
}: Pick<TransportEvent, 'reason' | 'syndrome' | 'among' | 'amongCount'>): string {
  const details = reason === undefined ? [] : [REASON_TEXTS[reason]];
  if (among.length > 0) details.push(`true of ${amongCount} of these ${among.length}, not known which: ${psns(among)}`);
  if (details.length > 0) return details.join('; ');
  if (syndrome === undefined) return '';
  if ((syndrome & SYNDROME_KIND_MASK) !== SyndromeKind.RnrNak) return nakName(syndrome);
  return `wait ${(RNR_TIMER_NS[syndrome & SYNDROME_VALUE_MASK] ?? 0) / 1e6} ms`;
}

/** "psn 5, 8, 9": the first of many. */
function psns(among: readonly number[]): string {
  return `psn ${among.slice(0, MOST_PSNS).join(', ')}${among.length > MOST_PSNS ? ', ...' : ''}`;
}

/**
 * Name of the NAK with this syndrome, the key of `RequesterReport.naks`: "PSN sequence error", or "NAK code 9" for an
 * unknown code.
 */
export function nakName(syndrome: number): string {
  const code = syndrome & SYNDROME_VALUE_MASK;
  return NAK_NAMES[code] ?? `NAK code ${code}`;
}

/** So many PSNs are named. */
const MOST_PSNS = 8;

const REASON_TEXTS: Readonly<Record<TransportEventReason, string>> = {
  'seen-then-nak': 'seen here, then asked for by a NAK',
  'seen-then-implied-nak': 'seen here, then requested again',
  'first-then-implied-nak': 'seen here, the first of its READ, then requested again',
  'retransmission-not-seen': 'requested again, and not seen then either',
  'service-without-acks': 'lost by the network or by the capture: this service has no ACKs',
  acknowledged: 'acknowledged by the receiver, so the capture lost it',
  'not-missed': 'the receiver did not miss it',
  'after-retransmission': 'after its own retransmission',
  'behind-capture': 'in order here, late at the receiver',
  'out-of-turn': 'came out of turn among packets sent again: the original late, or its retransmission',
  'filled-alone': 'filled the gap alone after a NAK: the original late, or just this one sent again',
  'came-twice': 'came twice after the gap: the original late, or its retransmission doubled',
  immediate: 'immediately',
  'after-timeout': 'after a timeout',
  'ack-not-received': 'acknowledged before, but the ACK did not arrive',
  'incomplete-capture': 'the capture lacks packets: it may have lost this one, or the late one that would tell',
};
