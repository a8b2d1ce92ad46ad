/** Where a scenario is played: two devices with hands, and a bump between them. Types only; who implements them is in-process.ts, lab.ts
 * and remote.ts. */
import type { WireRule } from 'rocev2/faults';
import type { Hands } from '../hands/hands.ts';
import type { EndName } from './trace.ts';

/** One device. */
export interface StageEnd {
  /** As the registry's deviations name it: `rocev2`, `rxe`, or its driver. */
  readonly device: string;
  /** As deviations name versions; empty for our own. */
  readonly version: string;
  readonly hands: Hands;
  /** Its addresses, each with the GID that stands for it; the other end has as many, each on the same subnet as the one here. */
  readonly addresses: readonly { readonly address: string; readonly gidIndex: number }[];
  /** Its distance between CNPs in nanoseconds, where it sends some and we know. */
  readonly minTimeBetweenCnpsNs?: number;
}

/** The devices and their wire, for one scenario. */
export interface Stage {
  readonly ends: Readonly<Record<EndName, StageEnd>>;
  /** Real time: clocks are not exact. */
  readonly live: boolean;
  /** Lets time pass until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T>;
  sleep(durationNs: number): Promise<void>;
  /** Ends the wire and gives the capture of the bump. */
  finish(): Promise<Uint8Array>;
}

/** Gives a stage for one scenario after another; there is one at a time. */
export interface Theatre {
  open(rules: readonly WireRule[]): Promise<Stage>;
  close(): Promise<void>;
}
