/** The settings of a run of the demo, and the sizes it moves. Values only. */
import type { FaultSpec } from 'rocev2/faults';

export interface DemoSettings {
  /** Seed of every random decision. */
  readonly seed: number;
  /** Path MTU: 256, 512, 1024, 2048 or 4096 bytes of payload a packet. */
  readonly mtu: number;
  /** Largest message in bytes. */
  readonly maxSize: number;
  /** Probabilities 0..1 for each frame in each direction, in the second half. */
  readonly loss: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly corrupt: number;
}

export const PATH_MTUS: readonly number[] = [256, 512, 1024, 2048, 4096];

export const DEFAULT_SETTINGS: DemoSettings = {
  seed: 1,
  mtu: 1024,
  maxSize: 1024 * 1024,
  loss: 0.01,
  duplicate: 0.01,
  reorder: 0.01,
  corrupt: 0.005,
};

/** 10 Gb/s, one frame at a time, so that every frame has its own moment on the ladder. */
export const CLEAN_WIRE: FaultSpec = { rateBps: 10e9, queueBytes: 1 };

/** The same wire with the configured faults. */
export function badWire(settings: DemoSettings): FaultSpec {
  const { loss, duplicate, reorder, corrupt } = settings;
  return { ...CLEAN_WIRE, loss, duplicate, duplicateDelayNs: 3_000, reorder, reorderDelayNs: 5_000, corrupt };
}

/** Nothing, one byte, a little, packets filled exactly and by one too many, many packets; none beyond `maxSize`. */
export function messageSizes({ mtu, maxSize }: DemoSettings): number[] {
  const sizes = [0, 1, SMALL_MESSAGE, mtu, mtu + 1, 64 * 1024, maxSize];
  return [...new Set(sizes)].filter((size) => size <= maxSize).sort((a, b) => a - b);
}

/** A message of one packet with every path MTU. */
export const SMALL_MESSAGE = 100;
