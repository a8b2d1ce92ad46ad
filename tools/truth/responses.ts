/**
 * READ responses that the requester lacked, as a capture at the responder, which sent them, tells of them.
 *
 * Owns the runs, the truth and the table. A response was lost where the network lost the sending that a later READ asks
 * for again; it was overtaken where that sending was held back; what arrived in time, and had to be dropped behind
 * another one, was neither. The truth is what the network did to the packet that a verdict names.
 */
import type { FaultSpec } from 'rocev2/faults';
import { Frame, FrameStatus, Medium, OPCODE_FLAGS, OpFlag, parseFrame } from 'rocev2/packets';
import { type CapturedPacket, Direction, type TransportEvent } from 'rocev2/pcap';
import { Fate } from 'rocev2/sim';
import { analyze } from './judge.ts';
import { packetOf } from './recording.ts';
import { AFTERMATH_NS, Scene } from './run.ts';
import { markdown, type Seeds, share } from './table.ts';

/** What a network does to what the responder sends, and to what it gets. */
export interface ResponseKind {
  readonly name: string;
  readonly reverse: FaultSpec;
  readonly faults?: FaultSpec;
}

/** What had become of a response that is asked for again. */
type Was = 'lost' | 'overtaken' | 'neither';

/** What a capture at the responder says of such responses. */
export interface ResponseRow {
  readonly kind: string;
  /** Lost, and asked for by a READ that begins there; of these, told; told to be lost without being so. */
  lost: number;
  lostTold: number;
  lostFalsely: number;
  /** Told to be overtaken, and those of them that were. */
  late: number;
  lateRightly: number;
  /** Told to be lost or overtaken, which cannot be told. */
  open: number;
}

const LATE: FaultSpec = { reorder: 0.01, reorderDelayNs: 15_000 };
const BOTH: FaultSpec = { ...LATE, loss: 0.01 };
/** Several packets are on their way at a time: a READ response takes 0.9 us, a round trip 6. */
export const RESPONSE_KINDS: readonly ResponseKind[] = [
  { name: '2 % lost', reverse: { loss: 0.02 } },
  { name: '1 % late by 3 us', reverse: { reorder: 0.01, reorderDelayNs: 3_000 } },
  { name: '1 % late by 15 us', reverse: LATE },
  { name: '0.5 % late by 0.1 ms', reverse: { reorder: 0.005, reorderDelayNs: 100_000 } },
  { name: '1 % lost, 1 % late by 3 us', reverse: { loss: 0.01, reorder: 0.01, reorderDelayNs: 3_000 } },
  { name: '1 % lost, 1 % late by 15 us', reverse: BOTH },
  { name: 'the same, requests as well', reverse: BOTH, faults: BOTH },
  { name: 'the same, 1 % doubled', reverse: { ...BOTH, duplicate: 0.01 }, faults: { ...BOTH, duplicate: 0.01 } },
];

/** A frame at the responder, and what became of it on its way. */
interface ResponderFrame {
  readonly timeNs: number;
  readonly bytes: Uint8Array;
  readonly direction: 'out' | 'in';
  readonly was: Was;
}

/** Plays the runs of some kinds. */
export async function measureResponses(
  { first, count }: Seeds,
  kinds: readonly ResponseKind[] = RESPONSE_KINDS,
): Promise<ResponseRow[]> {
  const rows: ResponseRow[] = [];
  for (const kind of kinds) {
    const row = newRow(kind.name);
    rows.push(row);
    for (let seed = first; seed < first + count; seed++) {
      const frames = await playResponses(kind, seed);
      judgeResponses(frames, analyze(frames.map(packetAt)).events, row);
    }
  }
  return rows;
}

export function newRow(kind: string): ResponseRow {
  return { kind, lost: 0, lostTold: 0, lostFalsely: 0, late: 0, lateRightly: 0, open: 0 };
}

/** Work of which most is READs, under faults, as the responder sees it. */
export async function playResponses({ reverse, faults = {} }: ResponseKind, seed: number): Promise<ResponderFrame[]> {
  const scene = new Scene({ seed, ipVersion: 4, mostlyReads: true });
  const { stage, a, b } = scene;
  const frames: ResponderFrame[] = [];
  scene.watch((timeNs, { name }, direction, whole, start, end, fate) => {
    if (name !== b.name || (direction === 'in' && (fate & Fate.Dropped) !== 0)) return;
    frames.push({
      timeNs,
      bytes: whole.slice(start, end),
      direction,
      was: direction === 'in' ? 'neither' : wasOf(fate),
    });
  });
  const work = scene.work(() => {
    stage.faults(a, faults);
    stage.faults(b, reverse);
  });
  await stage.world.run(work);
  stage.world.runFor(AFTERMATH_NS);
  return frames;
}

function wasOf(fate: number): Was {
  if ((fate & Fate.Dropped) !== 0) return 'lost';
  return (fate & Fate.Delayed) === 0 ? 'neither' : 'overtaken';
}

const packetAt = ({ timeNs, bytes, direction }: ResponderFrame, i: number): CapturedPacket =>
  packetOf(timeNs, bytes, direction === 'out' ? Direction.Outbound : Direction.Inbound, i + 1);

/** Adds what the events of a capture say of its responses. The requester is the end that sends READs. */
export function judgeResponses(
  frames: readonly ResponderFrame[],
  events: readonly TransportEvent[],
  into: ResponseRow,
): void {
  const asked = lostAndAsked(frames);
  into.lost += asked.size;
  const told = new Set<number>();
  for (const { kind, sender, requester, reason, refersTo } of events) {
    const was = frames[refersTo - 1]?.was;
    if (sender === requester || was === undefined || !REASONS.has(reason ?? '')) continue;
    if (kind === 'loss' && was !== 'lost') into.lostFalsely++;
    else if (kind === 'loss' && asked.has(refersTo)) told.add(refersTo);
    else if (kind === 'missing') into.open++;
    else if (kind === 'reordering') {
      into.late++;
      if (was === 'overtaken') into.lateRightly++;
    }
  }
  into.lostTold += told.size;
}

/** Numbers of lost frames with a response whose PSN a READ begins at before it is sent once more. */
function lostAndAsked(frames: readonly ResponderFrame[]): Set<number> {
  const asked = new Set<number>();
  const last = new Map<number, number>();
  const frame = new Frame();
  for (const [i, { bytes, direction, was }] of frames.entries()) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) continue;
    const flags = OPCODE_FLAGS[frame.opcode] ?? 0;
    const isRead = (flags & OpFlag.Read) !== 0 && (flags & OpFlag.Request) !== 0;
    if (direction === 'out' && (flags & OpFlag.ReadResponse) !== 0) {
      if (was === 'lost') last.set(frame.psn, i + 1);
      else last.delete(frame.psn);
    } else if (direction === 'in' && isRead) {
      const lost = last.get(frame.psn);
      if (lost !== undefined) asked.add(lost);
    }
  }
  return asked;
}

/** As Markdown. */
export function responseTable(rows: readonly ResponseRow[]): string {
  const lines = rows.map(({ kind, lost, lostTold, lostFalsely, late, lateRightly, open }) => [
    ...[kind, lost, share(ratio(lostTold, lostTold + lostFalsely)), share(ratio(lostTold, lost)), lostFalsely],
    ...[late, share(ratio(lateRightly, late)), open],
  ]);
  return markdown(HEAD, lines);
}

const ratio = (part: number, all: number): number | undefined => (all === 0 ? undefined : part / all);

/** Of events that are verdicts on what was captured before it was asked for again. */
const REASONS: ReadonlySet<string> = new Set(['seen-then-implied-nak', 'first-then-implied-nak', 'behind-capture']);
const HEAD =
  'what becomes of responses | lost and asked for | precision | recall | falsely lost | told overtaken | precision | told "cannot be told"';
