/**
 * READ responses that the bump dropped or damaged, and what is told of them.
 *
 * Owns what either place can know: the requester sees a gap where a later response came; the responder learns from a
 * READ that begins anew at a response that it has sent.
 */
import { Frame, FrameStatus, Medium, OPCODE_FLAGS, OpFlag, parseFrame, psnAdd, psnDiff } from 'rocev2/packets';
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
  for (const event of analysis.events) {
    if (event.kind !== 'loss' || event.requester !== requester || event.sender === requester) continue;
    for (let i = 0; i < event.count; i++) told.add(psnAdd(event.psn, i));
  }
  const real = vantage === 'requester' ? shown : asked;
  // A loss that this place need not know of is no mistake.
  const known = new Set([...told].filter((psn) => real.has(psn) || !lost.has(psn)));
  compare(real, known, into);
}

interface Fates {
  /** All that did not arrive whole when it was sent first. */
  readonly lost: ReadonlySet<number>;
  /** Of these, with a response behind that came before it was asked for again; damaged ones show themselves. */
  readonly shown: ReadonlySet<number>;
  /** Of these, asked for by a READ that begins there and arrived. */
  readonly asked: ReadonlySet<number>;
}

function fates(frames: readonly WireFrame[], requester: 0 | 1): Fates {
  const [lost, shown, asked] = [new Set<number>(), new Set<number>(), new Set<number>()];
  const sent = new Set<number>();
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
      if (!sent.has(psn) && (dropped || did.includes('corrupt'))) lost.add(psn);
      if (!sent.has(psn) && dropped) open.push(psn);
      sent.add(psn);
    } else if ((flags & OpFlag.ReadResponse) !== 0 && side === requester && direction === 'in') {
      for (const before of open) if (psnDiff(psn, before) > 0) shown.add(before);
      open = open.filter((before) => !shown.has(before));
    } else if (reads && side === requester && direction === 'out') {
      open = open.filter((before) => psnDiff(psn, before) > 0);
    } else if (reads && side !== requester && direction === 'in' && lost.has(psn)) {
      asked.add(psn);
    }
  }
  return { lost, shown, asked };
}
