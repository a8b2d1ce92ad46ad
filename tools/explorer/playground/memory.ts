/**
 * The memory of one host: four regions, their bytes to begin with, and what has changed in them since they were last
 * read. `outgoing` is what SENDs and WRITEs are taken from, `incoming` what receives and answers go to, `exposed` what
 * peers may WRITE and READ, `counters` what they may do atomics on. Owns the bytes' meaning; what opens a region is the
 * device's business.
 */

import type { Pd } from 'rocev2/browser';
import { Access, type MemoryRegion } from 'rocev2/transport';
import { COUNTER_BYTES, hostName, type PlaygroundScenario } from './scenario.ts';

/** Names of the regions. */
export const REGION_NAMES = ['outgoing', 'incoming', 'exposed', 'counters'] as const;
/** One of them. */
export type RegionName = (typeof REGION_NAMES)[number];

/** A run of bytes, [start, end). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** One host's regions. */
export class HostMemory {
  readonly regions: Readonly<Record<RegionName, MemoryRegion>>;
  readonly #seen = new Map<RegionName, Uint8Array>();

  constructor(pd: Pd, host: number, scenario: PlaygroundScenario) {
    const region = (name: RegionName) => pd.regMr(initialBytes(name, host, scenario), { access: ACCESS[name] });
    this.regions = {
      outgoing: region('outgoing'),
      incoming: region('incoming'),
      exposed: region('exposed'),
      counters: region('counters'),
    };
    this.look();
  }

  /** What changes from now on is new. */
  look(): void {
    for (const name of REGION_NAMES) {
      const { bytes } = this.regions[name];
      const seen = this.#seen.get(name);
      if (seen === undefined) this.#seen.set(name, bytes.slice());
      else seen.set(bytes);
    }
  }

  /** What has changed since then; runs that are close to each other count as one. */
  changed(name: RegionName): ByteRange[] {
    const { bytes } = this.regions[name];
    const seen = this.#seen.get(name) ?? bytes;
    const ranges: ByteRange[] = [];
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === seen[at]) continue;
      const last = ranges[ranges.length - 1];
      if (last !== undefined && at - last.end < GAP) ranges[ranges.length - 1] = { start: last.start, end: at + 1 };
      else ranges.push({ start: at, end: at + 1 });
    }
    return ranges;
  }
}

/**
 * Cells of four characters, the host's letter and a number, so that one sees whose bytes they are; exposed ones in
 * lower case.
 */
function initialBytes(name: RegionName, host: number, { memoryBytes }: PlaygroundScenario): Uint8Array {
  if (name === 'counters') return new Uint8Array(COUNTER_BYTES);
  const bytes = new Uint8Array(memoryBytes);
  if (name === 'incoming') return bytes;
  const letter = name === 'outgoing' ? hostName(host) : hostName(host).toLowerCase();
  for (let at = 0; at < memoryBytes; at++) {
    const cell = at >>> 2;
    bytes[at] = at % 4 === 0 ? letter.charCodeAt(0) : DIGIT_ZERO + (Math.floor(cell / 10 ** (3 - (at % 4))) % 10);
  }
  return bytes;
}

const ACCESS: Readonly<Record<RegionName, number>> = {
  // Closed to peers, but for what a memory window opens.
  outgoing: Access.LocalWrite | Access.MwBind,
  incoming: Access.LocalWrite,
  exposed: Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.FlushGlobal,
  counters: Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal,
};
const DIGIT_ZERO = 0x30;
const GAP = 4;
