/**
 * Verdicts between guests that are wrong or missing, one by one, and the captures that show them.
 *
 * Owns what is kept of each: a sum cannot be looked at. A run of a seed never repeats itself, as guests have their own
 * time, so the frames are those of the captures that `--keep DIR` writes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LinkType, PcapngWriter } from 'rocev2/pcap';
import type { JudgedRequest } from '../judge.ts';
import { captureOf, type GuestVantage } from './capture.ts';
import type { WireFrame } from './pair.ts';

/** A verdict that is not the truth, or a timeout that is told and shorter than agreed. */
export interface GuestCase {
  readonly seed: number;
  readonly vantage: GuestVantage;
  /** The side that sends the requests: 0 is the client. */
  readonly requester: 0 | 1;
  readonly psn: number;
  readonly was: string;
  readonly told: string;
  /** Numbers of frames in the capture of that place; -1: none. */
  readonly frame: number;
  readonly refersTo: number;
}

/** Where a run was seen. */
type Place = Pick<GuestCase, 'seed' | 'vantage' | 'requester'>;

/** Those of the verdicts that are not the truth. */
export function casesOf(judged: readonly JudgedRequest[], place: Place): GuestCase[] {
  const wrong = judged.filter(({ was, told }) => told !== was && !(was === 'discarded' && told === 'nothing'));
  return wrong.map(({ psn, was, told, event }) => ({
    ...place,
    ...{ psn, was, told, frame: event?.frame ?? -1, refersTo: event?.refersTo ?? -1 },
  }));
}

/**
 * Writes a file for each side into a directory, which it makes where there is none. Comments of packets say what the
 * bump did to them.
 */
export function keepCaptures(directory: string, name: string, frames: readonly WireFrame[]): void {
  mkdirSync(directory, { recursive: true });
  for (const [side, end] of ['client', 'server'].entries()) {
    const { packets, frames: own } = captureOf(frames, side as 0 | 1);
    const writer = new PcapngWriter({ application: 'rocev2 truth' });
    const at = writer.addInterface({ name: end, linkType: LinkType.Ethernet });
    for (const [i, { bytes, seconds, nanoseconds }] of packets.entries())
      writer.packet(at, bytes, 0, bytes.length, seconds, nanoseconds, { comments: [...(own[i]?.did ?? [])] });
    writeFileSync(join(directory, `${name}-${end}.pcapng`), writer.take());
  }
}
