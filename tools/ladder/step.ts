/**
 * One step of a packet ladder: a frame between the two hosts, as text.
 *
 * Owns the vocabulary of reader and drawing. Reads no bytes and draws nothing.
 */

/** Remarks on a frame; bits that may be combined. */
export const StepMark = {
  None: 0,
  /** It was sent and lost. */
  Lost: 1 << 0,
  /** The wire flipped a bit; the receiver drops it for its ICRC. */
  Corrupt: 1 << 1,
  /** The wire delivered it twice. */
  Duplicated: 1 << 2,
  /** The wire held it back and others overtook it. */
  Late: 1 << 3,
  /** Sent before: its PSN, or the answer that it is. */
  Retransmit: 1 << 4,
  /** A NAK or an RNR NAK. */
  Nak: 1 << 5,
} as const;

export interface LadderStep {
  /** When it was sent, nanoseconds. */
  readonly timeNs: number;
  readonly fromLeft: boolean;
  /** "WRITE First", "ACK", "NAK PSN sequence error", "CM REQ". */
  readonly label: string;
  /** PSN counted from the first one of its direction; undefined where PSNs do not order anything. */
  readonly psn: number | undefined;
  /** "1024 B", "requests 65536 B"; may be empty. */
  readonly detail: string;
  /** Bits of `StepMark`. */
  readonly marks: number;
}

const NAMES: readonly (readonly [bit: number, name: string])[] = [
  [StepMark.Nak, 'NAK'],
  [StepMark.Retransmit, 'RETRANSMIT'],
  [StepMark.Lost, 'LOST'],
  [StepMark.Corrupt, 'CORRUPT'],
  [StepMark.Duplicated, 'DUPLICATED'],
  [StepMark.Late, 'LATE'],
];

/** "RETRANSMIT LOST"; empty for no mark. */
export function markName(marks: number): string {
  return NAMES.filter(([bit]) => (marks & bit) !== 0)
    .map(([, name]) => name)
    .join(' ');
}
