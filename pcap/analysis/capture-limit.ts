/**
 * What a capture cannot know, and where it was taken, as plain data.
 *
 * Owns the vocabulary. `limits/` finds limits, and `evidence.ts` says what each of them takes from a finding.
 */

/** Why a capture does not show all that happened. */
export const CAPTURE_LIMIT_KINDS = [
  'one-direction',
  'sampled',
  'capture-loss',
  'doubled',
  'doubled-late',
  'cut',
  'clock-step',
  'clock-offset',
  'not-compared',
  'rewritten',
  'unread',
  'conversations-omitted',
] as const;
/**
 * One of them:
 * - `one-direction`: of these conversations only what one end sent is in the capture, though the other end must have
 *   answered.
 * - `sampled`: about one in N packets is in the capture (sFlow, a sampling mirror, or a path that spreads packets over
 *   links of which this is one), evenly spread.
 * - `capture-loss`: the capture lacks packets that their receiver had.
 * - `doubled`: most frames are in the capture twice: a mirror of both directions of a port, or of two ports.
 * - `doubled-late`: the same, so much later that they may have been sent again.
 * - `cut`: only the beginnings of packets were kept.
 * - `clock-step`: the clock of an interface jumped, backwards or forwards.
 * - `clock-offset`: the clocks of two interfaces differ.
 * - `not-compared`: interfaces that share too few frames with another one to tell what happened in between, or whose
 *   sightings of the same frames are too far apart in the capture.
 * - `rewritten`: addresses or ports change on the way, so that one conversation of two hosts is two of the capture.
 * - `unread`: packets that may carry RoCEv2 and cannot be read.
 * - `conversations-omitted`: more conversations than are followed.
 */
export type CaptureLimitKind = (typeof CAPTURE_LIMIT_KINDS)[number];

/** One thing that a capture cannot know, of which findings have to take account. */
export interface CaptureLimit {
  /** What kind of thing. */
  readonly kind: CaptureLimitKind;
  /** A plain sentence with the figures of this case. */
  readonly text: string;
  /** Interfaces that it is about, by index; empty: all of them. */
  readonly interfaces: readonly number[];
  /** Ids of the conversations that it is about; empty: all of these interfaces. */
  readonly conversations: readonly number[];
  /** Numbers of packets that show it, at most `MOST_FRAMES`; empty where no packet does. */
  readonly frames: readonly number[];
  /** Figures behind the sentence, by name with unit: `oneIn`, `unseenPercent`, `stepNs`. */
  readonly evidence: Readonly<Record<string, number | string | readonly (number | string)[]>>;
}

/** What a finding may rest on, beyond the packets that it shows. */
export const EVIDENCE_KINDS = ['answers', 'every-packet', 'once', 'sent-again', 'clock', 'clocks', 'payload'] as const;
/**
 * One of them:
 * - `answers`: an answer that is not in the capture was not sent.
 * - `every-packet`: a packet that is not in the capture was not there.
 * - `once`: a frame that is in the capture twice was there twice.
 * - `sent-again`: a frame that comes again long after was sent again.
 * - `clock`: durations at one interface are right.
 * - `clocks`: times of several interfaces can be compared.
 * - `payload`: packets are there to their end.
 */
export type Evidence = (typeof EVIDENCE_KINDS)[number];

/** Where on the way between two hosts a capture can be taken. */
export const VANTAGE_PLACES = ['near-requester', 'near-responder', 'near-host', 'middle', 'unknown'] as const;
/**
 * One of them: near the host that sends the requests, near the one that answers them, near one that does both,
 * noticeably far from both, or it cannot be told.
 */
export type VantagePlace = (typeof VANTAGE_PLACES)[number];

/** An interface of a capture, and where it is. */
export interface Vantage {
  /** Index of the interface. */
  readonly interfaceIndex: number;
  /** Where it is. */
  readonly place: VantagePlace;
  /** Addresses of the host that it is near, those with most packets first; empty for 'middle' and 'unknown'. */
  readonly hosts: readonly string[];
  /** RoCEv2 packets that it saw. */
  readonly packets: number;
  /** Figures behind it: `toResponderNs`, `toRequesterNs` (round trips from here, the shortest), `samples`. */
  readonly evidence: CaptureLimit['evidence'];
}
