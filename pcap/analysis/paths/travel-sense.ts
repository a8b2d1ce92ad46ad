/**
 * Which way a frame at one of two interfaces goes: as the capture recorded it, or by its addresses, since a host stays
 * on its side.
 *
 * Owns the ways of the pairs of addresses, a bounded number. One of which nothing is known has no way: frames between
 * other hosts never come to the second interface, and are not missing there.
 */
import type { Direction } from '../../types.ts';
import type { CapturedFrame } from './captured-frame.ts';
import type { Sample, Way } from './travel.ts';

/** Tells the way of frames. */
export interface TravelSense {
  /** Whether the capture has directions; otherwise ways can be learnt. */
  readonly recorded: boolean;
  /** 0: unknown. */
  wayOf(frame: CapturedFrame): Way | 0;
  /** This frame, and others between its addresses, go that way. */
  learn(frame: CapturedFrame, way: Way): void;
}

/**
 * By the directions in the capture.
 *
 * @param first index of the first interface
 * @param coming the direction in which frames come: inbound for a bump, outbound for two ends
 */
export function travelByDirection(first: number, coming: Direction): TravelSense {
  return {
    recorded: true,
    wayOf: ({ interfaceIndex, direction }) => ((interfaceIndex === first) === (direction === coming) ? 1 : -1),
    learn: () => undefined,
  };
}

/** By the addresses of frames whose ways are known. A damaged frame may have wrong ones, and goes by its stations. */
export function travelByFlow(first: number, forward: readonly Sample[], backward: readonly Sample[]): TravelSense {
  const flows = new Map<number, Way>();
  const stations = new Map<number, Way>();
  const put = (map: Map<number, Way>, key: number, way: Way): void => {
    if (map.size < MOST_FLOWS) map.set(key, way);
  };
  const learn = (frame: CapturedFrame, way: Way): void => {
    put(flows, flowOf(frame), way);
    put(stations, stationsOf(frame, first), way);
  };
  for (const { first: here, second: there } of forward) for (const frame of [here, there]) learn(frame, 1);
  for (const { first: here, second: there } of backward) for (const frame of [here, there]) learn(frame, -1);
  return {
    recorded: false,
    wayOf: (frame) => flows.get(flowOf(frame)) ?? (frame.damaged ? (stations.get(stationsOf(frame, first)) ?? 0) : 0),
    learn,
  };
}

function flowOf({ source, destination }: CapturedFrame): number {
  return source ^ Math.imul(destination, 31);
}

function stationsOf({ stations, interfaceIndex }: CapturedFrame, first: number): number {
  return interfaceIndex === first ? stations : ~stations;
}

const MOST_FLOWS = 65_536;
