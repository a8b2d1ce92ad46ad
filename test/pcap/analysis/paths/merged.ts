/**
 * Makes of the capture of a bump what two hosts would have captured at the ends of its wire, put together by mergecap:
 * a clock of its own for one side, the order of the time stamps, no directions, one direction only.
 */

import type { PathEvent } from '../../../../pcap/analysis/types.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';

/** How the two captures differ from one of both sides. */
export interface MergeOptions {
  /** By how much the clock of interface 1 is ahead. */
  readonly offsetNs?: number;
  /** How much it gains. */
  readonly driftPpm?: number;
  /** The captures have no directions. Default false. */
  readonly undirected?: boolean;
  /** Of what goes from interface 1 to 0, interface 0 captured nothing. Default false. */
  readonly oneWay?: boolean;
  /** The clocks of both count in such steps. Default 1. */
  readonly resolutionNs?: number;
}

/** A merged capture; `numbers` has the number that each packet had before, by its new one. */
export interface Merged {
  readonly packets: readonly CapturedPacket[];
  readonly numbers: ReadonlyMap<number, number>;
}

/** As `mergecap` does it: by time stamps, whatever they are worth. */
export function merged(packets: Iterable<CapturedPacket>, options: MergeOptions): Merged {
  const { offsetNs = 0, driftPpm = 0, undirected = false, oneWay = false, resolutionNs = 1 } = options;
  const stamped: { packet: CapturedPacket; timeNs: number }[] = [];
  let incoming = -1;
  for (const packet of packets) {
    const { interfaceIndex, direction } = packet;
    if (incoming < 0) incoming = direction;
    if (oneWay && interfaceIndex === 0 && direction !== incoming) continue;
    const trueNs = packet.seconds * 1e9 + packet.nanoseconds;
    const shownNs = EPOCH_NS + (interfaceIndex === 0 ? trueNs : trueNs * (1 + driftPpm * 1e-6) + offsetNs);
    stamped.push({ packet, timeNs: Math.floor(shownNs / resolutionNs) * resolutionNs });
  }
  stamped.sort((one, other) => one.timeNs - other.timeNs);
  const numbers = new Map<number, number>();
  const result = stamped.map(({ packet, timeNs }, at) => {
    numbers.set(at + 1, packet.number);
    return {
      ...packet,
      number: at + 1,
      seconds: Math.floor(timeNs / 1e9),
      nanoseconds: timeNs % 1e9,
      direction: undirected ? (0 as const) : packet.direction,
    };
  });
  return { packets: result, numbers };
}

/** The same event with the numbers that the packets had before. */
export function renumbered(event: PathEvent, numbers: ReadonlyMap<number, number>): PathEvent {
  const before = (number: number): number => numbers.get(number) ?? 0;
  return { ...event, in: before(event.in), out: event.out.map(before) };
}

/** Far from zero: a clock that is behind still shows times after 1970. */
const EPOCH_NS = 600e9;
