/**
 * What stands in the lines of a ladder: packets, what was lost before them, and silences.
 *
 * Owns where an extra line belongs and the name of a packet. Pure: packets in, rows out; no DOM, no capture. Runs in a
 * browser.
 */
import { formatAeth, Op, OpFlag, opcodeInfo, SERVICE_MASK } from 'rocev2/packets';
import { Mark } from 'rocev2/pcap';

/** A packet, as far as a ladder shows it. */
export interface LadderPacket {
  /** Number in the capture, from 1. */
  readonly number: number;
  readonly timeNs: number;
  /** The end that sent it. */
  readonly sender: 0 | 1;
  /** BTH opcode. */
  readonly opcode: number;
  /** What is shown as its PSN: relative to the first where that is known. */
  readonly psn: number;
  /** Syndrome of the AETH; -1 without one. */
  readonly syndrome: number;
  /** Bytes of payload. */
  readonly payload: number;
  /** Bits of `Mark`. */
  readonly marks: number;
  /** Packets lost before it. */
  readonly missing: number;
  /** Which these are; without it those right before it. */
  readonly gone?: readonly LostRun[];
  /** Number of a packet that it refers to; -1: none. */
  readonly refersTo: number;
  /** Its name where the opcode says little: "CM REQ". */
  readonly name?: string;
  /** It never arrived, as far as is known. */
  readonly lost?: boolean;
}

/** Packets that never came past, one after the other. */
export interface LostRun {
  /** The first one, counted as the PSN of `LadderPacket`. */
  readonly psn: number;
  readonly count: number;
}

/** What a line is about. */
export type LadderRow =
  | { readonly kind: 'packet'; readonly packet: LadderPacket }
  /** Packets that never came past: sent by `sender`, from `psn` on. */
  | { readonly kind: 'lost'; readonly sender: 0 | 1; readonly psn: number; readonly count: number }
  /** What an end decided. */
  | { readonly kind: 'note'; readonly note: LadderNote }
  /** Nothing happened for a while. */
  | { readonly kind: 'silence'; readonly durationNs: number; readonly timeout: boolean };

/** What an end did beside sending and receiving, in words. */
export interface LadderNote {
  readonly timeNs: number;
  readonly side: 0 | 1;
  readonly text: string;
}

/** Colour and meaning of an arrow. */
export type Tone = 'request' | 'response' | 'ack' | 'nak' | 'again' | 'bad' | 'notice';

/** The rows of packets that are in order of time, as notes are too. */
export function ladderRows(
  packets: readonly LadderPacket[],
  silenceNs = silenceOf(packets),
  notes: readonly LadderNote[] = [],
): LadderRow[] {
  const rows: LadderRow[] = [];
  const waiting = [...notes];
  let before: LadderPacket | undefined;
  for (const packet of packets) {
    while ((waiting[0]?.timeNs ?? Number.POSITIVE_INFINITY) < packet.timeNs) rows.push(...noteRow(waiting.shift()));
    rows.push(...rowsBefore(before?.timeNs, packet, silenceNs), { kind: 'packet', packet });
    before = packet;
  }
  return [...rows, ...waiting.flatMap(noteRow)];
}

function noteRow(note: LadderNote | undefined): LadderRow[] {
  return note === undefined ? [] : [{ kind: 'note', note }];
}

/** The lines that stand before a packet: a silence since the last one at `lastNs`, and what was lost. */
export function rowsBefore(lastNs: number | undefined, packet: LadderPacket, silenceNs: number): LadderRow[] {
  const { timeNs, marks, sender } = packet;
  const rows: LadderRow[] = [];
  const durationNs = lastNs === undefined ? 0 : timeNs - lastNs;
  if (isSilence(durationNs, silenceNs)) {
    rows.push({ kind: 'silence', durationNs, timeout: (marks & Mark.AfterTimeout) !== 0 });
  }
  for (const { psn, count } of goneOf(packet)) rows.push({ kind: 'lost', sender, psn, count });
  return rows;
}

/** What was lost before a packet. */
export function goneOf({ gone, missing, psn }: LadderPacket): readonly LostRun[] {
  return gone ?? (missing > 0 ? [{ psn: psn - missing, count: missing }] : []);
}

/** Whether a pause has a line of its own. */
function isSilence(durationNs: number, silenceNs: number): boolean {
  return durationNs >= silenceNs && durationNs > 0;
}

/**
 * From how long on a pause has a line of its own: far longer than usual between these packets, and no less than
 * `LEAST_SILENCE_NS`.
 */
function silenceOf(packets: readonly LadderPacket[]): number {
  const distances = packets.slice(1).map(({ timeNs }, index) => timeNs - (packets[index]?.timeNs ?? timeNs));
  return silenceOfDistances(distances);
}

/** The same from distances in any order. */
export function silenceOfDistances(distances: ArrayLike<number>): number {
  const sorted = Float64Array.from(distances).sort();
  const usual = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return Math.max(LEAST_SILENCE_NS, FAR * usual);
}

/** Name, PSN, size, and that it is damaged: "WRITE First", "psn 4", "1024 B", "wrong ICRC". */
export function wordsOf(packet: LadderPacket): string {
  const { opcode, syndrome, psn, payload, name, marks } = packet;
  if (name !== undefined) return name;
  const { flags } = opcodeInfo(opcode);
  const words = [nameOf(opcode, syndrome)];
  if (opcode !== Op.Cnp) words.push(`psn ${psn}`);
  if ((flags & OpFlag.Payload) !== 0 || payload > 0) words.push(`${payload} B`);
  if ((marks & Mark.BadIcrc) !== 0) words.push('wrong ICRC');
  return words.join('  ');
}

/** Short name of an operation, or what an ACK says. */
export function nameOf(opcode: number, syndrome: number): string {
  const { name, flags, known } = opcodeInfo(opcode);
  if (!known) return name;
  if ((flags & OpFlag.Ack) !== 0) return formatAeth(Math.max(0, syndrome), 0).replace(/ msn 0$/, '');
  const service = opcode & SERVICE_MASK;
  return service === 0x80 ? name : name.replace(/^\S+ /, '').replace(/^RDMA /, '');
}

/** The look of its arrow: the gravest mark decides. */
export function toneOf({ opcode, marks, lost }: LadderPacket): Tone {
  if (lost === true || (marks & (Mark.BadIcrc | Mark.Violation)) !== 0) return 'bad';
  if ((marks & (Mark.Nak | Mark.RnrNak)) !== 0) return 'nak';
  if ((marks & (Mark.Retransmission | Mark.ImpliedNak | Mark.Copy | Mark.Late)) !== 0) return 'again';
  const { flags } = opcodeInfo(opcode);
  if ((flags & OpFlag.Cnp) !== 0) return 'notice';
  if ((flags & OpFlag.Ack) !== 0) return 'ack';
  return (flags & OpFlag.Response) !== 0 ? 'response' : 'request';
}

/** Letters with the meaning of the colour, for readers who cannot tell colours apart. */
export function lettersOf({ marks }: LadderPacket): string {
  return LETTERS.filter(([mark]) => (marks & mark) !== 0)
    .map(([, letters]) => letters)
    .join(' ');
}

/** What the letters mean. */
export const LETTERS: readonly (readonly [mark: number, letters: string, meaning: string])[] = [
  [Mark.Retransmission, 'R', 'sent again'],
  [Mark.AfterTimeout, 'T', 'after a timeout'],
  [Mark.ImpliedNak, 'I', 'implied NAK'],
  [Mark.Copy, 'C', 'the same frame twice'],
  [Mark.Late, 'L', 'came late'],
  [Mark.Nak, 'N', 'NAK'],
  [Mark.RnrNak, 'W', 'receiver not ready'],
  [Mark.GhostAck, 'G', 'acknowledges what was acknowledged'],
  [Mark.BadIcrc, '!', 'wrong ICRC'],
  [Mark.Ce, 'CE', 'marked by the network'],
  [Mark.Violation, 'V', 'breaks a rule'],
];

const LEAST_SILENCE_NS = 100_000;
const FAR = 50;
