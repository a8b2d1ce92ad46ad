/**
 * Captures of one run on the simulated network, at the requester, at the responder and half-way, and what a worse
 * capture would have kept of them.
 */
import { Frame, FrameStatus, Medium, parseFrame } from '../../../../packets/frame.ts';
import { computeIcrc } from '../../../../packets/icrc.ts';
import { OPCODE_FLAGS, OpFlag } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { Fate, Prng } from '../../../../src/sim/index.ts';
import { type ConnectedPair, Stage } from '../../../../tools/symptoms/stage.ts';

/** What a run is made of. */
export interface RunOptions {
  readonly seed?: number;
  readonly ipVersion?: 4 | 6;
  readonly work?: 'write' | 'send' | 'read' | 'mixed' | 'both-ways' | 'deep';
  /** Share of what either host sends that the network loses. */
  readonly loss?: number;
  /** Rounds of a few messages; default 60. */
  readonly rounds?: number;
  readonly cm?: boolean;
}

/** Where captures of a run are taken. */
export const PLACES = ['requester', 'middle', 'responder'] as const;
export type Place = (typeof PLACES)[number];

/** A run and the truth about it. */
export interface MadeRun {
  readonly captures: Readonly<Record<Place, readonly CapturedPacket[]>>;
  /** What the network dropped. */
  readonly lostRequests: number;
  readonly lostResponses: number;
}

export async function makeRun(options: RunOptions = {}): Promise<MadeRun> {
  const { seed = 1, ipVersion = 4, work = 'mixed', loss = 0, rounds = 60, cm = false } = options;
  const stage = new Stage({ seed, vantages: ['A', 'B', 'mirror'] });
  const [a, b] = [stage.host('A'), stage.host('B')];
  const lost = { requests: 0, responses: 0 };
  countLosses(stage, lost);
  const play = async (): Promise<void> => {
    const pair = await stage.connect(a, b, { ipVersion, timeout: 10, cm });
    for (let i = 0; i < 6; i++) await round(pair, work, 1);
    for (const host of [a, b]) stage.faults(host, { loss });
    for (let i = 0; i < rounds; i++) await round(pair, work, 1 + (i % 6));
  };
  await stage.world.run(play());
  stage.world.runFor(50_000);
  const all = [...readCapture(stage.takeCapture())];
  const seenBy = (index: number) =>
    numbered(
      all.filter(({ interfaceIndex }) => interfaceIndex === index).map((each) => ({ ...each, interfaceIndex: 0 })),
    );
  const captures = { requester: seenBy(0), responder: seenBy(1), middle: seenBy(2) };
  return { captures, lostRequests: lost.requests, lostResponses: lost.responses };
}

/** A few messages at once; each completes before the next round. */
async function round({ a, b }: ConnectedPair, work: RunOptions['work'], packets: number): Promise<void> {
  const bytes = 1024 * packets;
  if (work === 'send') {
    b.receive(2);
    await Promise.all([a.send(bytes), a.send(bytes + 100)]);
  } else if (work === 'write') await Promise.all([a.write(b, bytes), a.write(b, bytes + 100)]);
  else if (work === 'read') await Promise.all([a.read(b, bytes), a.read(b, bytes + 100)]);
  else if (work === 'deep')
    // Much is under way at once, so that a loss has many packets behind it.
    await Promise.all([a.write(b, 24_000), a.read(b, 24_000), a.write(b, 24_000), a.read(b, 24_000)]);
  else if (work === 'both-ways') await Promise.all([a.write(b, bytes), b.write(a, bytes + 100)]);
  else await Promise.all([a.write(b, bytes), a.read(b, bytes + 100), a.write(b, 300)]);
}

function countLosses(stage: Stage, lost: { requests: number; responses: number }): void {
  const { network } = stage.world;
  const { tap } = network;
  const frame = new Frame();
  network.tap = {
    frame(now, port, direction, bytes, start, end, fate, serial) {
      tap?.frame(now, port, direction, bytes, start, end, fate, serial);
      if (direction !== 'out' || (fate & Fate.Dropped) === 0) return;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
      const flags = OPCODE_FLAGS[frame.opcode] ?? 0;
      if ((flags & OpFlag.Request) !== 0) lost.requests++;
      else if ((flags & OpFlag.Ack) === 0) lost.responses++;
    },
  };
}

/** The packets with numbers as in a file of their own. */
export function numbered(packets: readonly CapturedPacket[]): CapturedPacket[] {
  return packets.map((packet, i) => ({ ...packet, number: i + 1 }));
}

/** A sample: one in `n`, each by chance or every n-th. */
export function sampled(
  packets: readonly CapturedPacket[],
  n: number,
  how: 'chance' | 'counted' = 'chance',
): CapturedPacket[] {
  const random = new Prng(n);
  return numbered(packets.filter((_, i) => (how === 'counted' ? i % n === 0 : random.chance(1 / n))));
}

/** What is left when the capture loses packets, one by one or so many in a row. */
export function lossy(packets: readonly CapturedPacket[], share: number, burst = 1): CapturedPacket[] {
  const random = new Prng(burst + 7);
  let left = 0;
  return numbered(
    packets.filter(() => {
      if (left === 0 && random.chance(share / burst)) left = burst;
      if (left === 0) return true;
      left--;
      return false;
    }),
  );
}

/** What one host sent, by the last byte of its MAC address: 1 is the requester. */
export function oneDirection(packets: readonly CapturedPacket[], station: 1 | 2): CapturedPacket[] {
  return numbered(packets.filter(({ bytes }) => bytes[11] === station));
}

/** Each frame once more, so much later. */
export function doubled(packets: readonly CapturedPacket[], byNs: number): CapturedPacket[] {
  const twice = packets.flatMap((packet) => [packet, shifted(packet, byNs)]);
  return numbered(twice.sort((a, b) => timeOf(a) - timeOf(b)));
}

export function cut(packets: readonly CapturedPacket[], bytes: number): CapturedPacket[] {
  return packets.map((packet) => ({ ...packet, bytes: packet.bytes.subarray(0, bytes) }));
}

/**
 * From the first answer in the second half on, the clock is so much ahead; negative: behind. Forwards a step shows only
 * where an answer follows.
 */
export function stepped(packets: readonly CapturedPacket[], byNs: number): CapturedPacket[] {
  const from = packets.findIndex(({ bytes }, i) => i >= packets.length / 2 && bytes[11] === 2);
  return packets.map((packet, i) => (i < from ? packet : shifted(packet, byNs)));
}

export function shifted(packet: CapturedPacket, byNs: number): CapturedPacket {
  const at = packet.nanoseconds + byNs;
  const carry = Math.floor(at / 1e9);
  return { ...packet, seconds: packet.seconds + carry, nanoseconds: at - carry * 1e9 };
}

function timeOf({ seconds, nanoseconds }: CapturedPacket): number {
  return (seconds - 1.7e9) * 1e9 + nanoseconds;
}

export function analyze(packets: Iterable<CapturedPacket>): Analysis {
  // The frames of these runs are right, and their ICRCs take most of the time.
  const analyzer = new Analyzer({ verifyIcrc: false });
  for (const packet of packets) analyzer.packet(packet);
  return analyzer.finish();
}

/** The same requests over UC, which has no responses. */
export function overUc(packets: readonly CapturedPacket[]): CapturedPacket[] {
  return numbered(
    packets.flatMap((packet) => {
      const bytes = packet.bytes.slice();
      const frame = new Frame();
      const view = new DataView(bytes.buffer);
      if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) return [];
      // Without connection management, which speaks of RC.
      if ((frame.flags & (OpFlag.Send | OpFlag.Write)) === 0 || frame.opcode >= UC) return [];
      view.setUint8(frame.bthOffset, frame.opcode | UC);
      const { ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
      view.setUint32(icrcOffset, computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset), true);
      return [{ ...packet, bytes }];
    }),
  );
}

const UC = 0x20;
