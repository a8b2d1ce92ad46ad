/**
 * What a process holds after everything that can be collected was collected, at points of a run, and whether that
 * grows. Owns the points and the rule. Compare tools/bench/links/flatness.ts, whose rule is for megabytes of buffers.
 */
import { existsSync, readdirSync } from 'node:fs';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is held at one point of a run. */
export interface MemoryPoint {
  /** Part of the run that is over, 0..1. */
  readonly at: number;
  /** Heap and array buffers, after collections. */
  readonly bytes: number;
  /** Objects of any kind, functions and arrays included: bytes vary by what is compiled, these hardly do. */
  readonly objects: number;
  /** Open file descriptors; 0 where the system does not tell. */
  readonly descriptors: number;
}

/** Collects all garbage and measures. */
export function memoryPoint(at: number): MemoryPoint {
  // It collects, too.
  const objects = queryObjects(Object, { format: 'count' });
  return { at, bytes: bytesInUse(), objects, descriptors: openDescriptors() };
}

/** Heap and the memory of array buffers, after collections: buffers go one round after the objects that hold them. */
export function bytesInUse(): number {
  for (let round = 0; round < 3; round++) collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Open file descriptors of this process; 0 where the system does not tell. */
export function openDescriptors(): number {
  return existsSync(DESCRIPTORS) ? readdirSync(DESCRIPTORS).length : 0;
}

/** How much more is held near the end of a run than in its middle. */
export interface Growth {
  readonly bytes: number;
  readonly objects: number;
}

/**
 * How far the least of the last third of the points exceeds the least of the middle third. The first third does not
 * count: caches fill and code is compiled. The least, as a point may find code that was just compiled.
 */
export function growth(points: readonly MemoryPoint[]): Growth {
  const third = Math.floor(points.length / 3);
  if (third === 0) return { bytes: 0, objects: 0 };
  const [middle, last] = [points.slice(third, 2 * third), points.slice(2 * third)];
  const rise = (of: (point: MemoryPoint) => number): number => Math.min(...last.map(of)) - Math.min(...middle.map(of));
  return { bytes: rise(({ bytes }) => bytes), objects: rise(({ objects }) => objects) };
}

/** Whether that is what caches and compiled code grow by. A leak of an object every 20th round shows in 30 days. */
export function isFlat({ bytes, objects }: Growth): boolean {
  return bytes <= MAX_GROWTH_BYTES && objects <= MAX_GROWTH_OBJECTS;
}

const MAX_GROWTH_BYTES = 0x8_00_00;
const MAX_GROWTH_OBJECTS = 64;

const DESCRIPTORS = '/proc/self/fd';
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
