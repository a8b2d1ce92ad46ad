/**
 * READ responses that the bump dropped or damaged, and what is told of them.
 *
 * Owns what either place can know: the requester sees a gap where a later response came; the responder learns from a
 * READ that begins anew at a response that it has sent.
 */
import {
  Frame,
  FrameStatus,
  Medium,
  OPCODE_FLAGS,
  OpFlag,
  PSN_MASK,
  parseFrame,
  psnAdd,
  psnDiff,
} from 'rocev2/packets';
import type { Analysis } from 'rocev2/pcap';
import type { GuestVantage } from './capture.ts';
import type { WireFrame } from './pair.ts';
import { compare, type Share } from './share.ts';

/** Adds what one capture shows of the responses to `requester`. Ends of the analysis are sides. */
export function judgeResponses(
  frames: readonly WireFrame[],
  { requester, vantage, analysis }: { requester: 0 | 1; vantage: GuestVantage; analysis: Pick<Analysis, 'events'> },
  into: Share,
): void {
  const { lost, shown, asked } = fates(frames, requester);
  const told = new Set<number>();
  const times = new Map<number, number>();
  for (const event of analysis.events) {
    if (event.kind !== 'loss' || event.requester !== requester || event.sender === requester) continue;
    for (let i = 0; i < event.count; i++) told.add(next(times, psnAdd(event.psn, i)));
  }
  const real = vantage === 'requester' ? shown : asked;
  // A loss that this place need not know of is no mistake.
  const known = new Set([...told].filter((each) => real.has(each) || !lost.has(each)));
  compare(real, known, into);
}

/** What becomes of responses: each by its PSN, and by how often that was so of this PSN before. */
interface Fates {
  /** All sendings that did not arrive whole. */
  readonly lost: ReadonlySet<number>;
  /** First ones of these, with a response behind that came before it was asked for again. Damage shows itself. */
  readonly shown: ReadonlySet<number>;
  /** Of these, asked for by a READ that begins there and arrived before it was sent once more. */
  readonly asked: ReadonlySet<number>;
}

function fates(frames: readonly WireFrame[], requester: 0 | 1): Fates {
  const [lost, shown, asked] = [new Set<number>(), new Set<number>(), new Set<number>()];
  const [lostTimes, askedTimes] = [new Map<number, number>(), new Map<number, number>()];
  /** Whether the last sending was lost. */
  const sent = new Map<number, boolean>();
  let open: number[] = [];
  const frame = new Frame();
  for (const { bytes, side, direction, did } of frames) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) continue;
    const { psn, opcode } = frame;
    const flags = OPCODE_FLAGS[opcode] ?? 0;
    const reads = (flags & OpFlag.Read) !== 0 && (flags & OpFlag.Request) !== 0;
    if ((flags & OpFlag.ReadResponse) !== 0 && side !== requester && direction === 'out') {
      const dropped = did.includes('drop');
      if (dropped || did.includes('corrupt')) lost.add(next(lostTimes, psn));
      if (!sent.has(psn) && dropped) open.push(psn);
      sent.set(psn, dropped || did.includes('corrupt'));
    } else if ((flags & OpFlag.ReadResponse) !== 0 && side === requester && direction === 'in') {
      for (const before of open) if (psnDiff(psn, before) > 0) shown.add(before);
      open = open.filter((before) => !shown.has(before));
    } else if (reads && side === requester && direction === 'out') {
      open = open.filter((before) => psnDiff(psn, before) > 0);
    } else if (reads && side !== requester && direction === 'in' && sent.get(psn) === true) {
      asked.add(next(askedTimes, psn));
      sent.set(psn, false);
    }
  }
  return { lost, shown, asked };
}

/** The PSN the first time; another number each time after that. */
function next(times: Map<number, number>, psn: number): number {
  const before = times.get(psn) ?? 0;
  times.set(psn, before + 1);
  return psn + before * (PSN_MASK + 1);
}
