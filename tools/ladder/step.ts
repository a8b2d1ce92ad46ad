/**
 * One step of a packet ladder: a frame that went from one side to the other, in words.
 * Owns the vocabulary of reader and drawing. Never sees bytes and never draws.
 */

/** What deserves a word beside a frame; bits that may come together. */
export const Mark = {
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
  /** Bits of `Mark`. */
  readonly marks: number;
}

const NAMES: readonly (readonly [bit: number, name: string])[] = [
  [Mark.Nak, 'NAK'],
  [Mark.Retransmit, 'RETRANSMIT'],
  [Mark.Lost, 'LOST'],
  [Mark.Corrupt, 'CORRUPT'],
  [Mark.Duplicated, 'DUPLICATED'],
  [Mark.Late, 'LATE'],
];

/** "RETRANSMIT LOST"; empty for no mark. */
export function markName(marks: number): string {
  return NAMES.filter(([bit]) => (marks & bit) !== 0)
    .map(([, name]) => name)
    .join(' ');
}
