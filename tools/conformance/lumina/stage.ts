/**
 * Where a scenario is played: two devices with host control, and a bump between them. Types only; who implements them
 * is in-process.ts, lab.ts and remote.ts.
 */
import type { WireRule } from 'rocev2/faults';
import type { HostControl } from '../host-control/host-control.ts';
import type { TrafficEnd } from './trace.ts';

/** One device. */
export interface TestbedEnd {
  /** As the registry's deviations name it: `rocev2`, `rxe`, or its driver. */
  readonly device: string;
  /** As deviations name versions; empty for our own. */
  readonly version: string;
  readonly hostControl: HostControl;
  /**
   * Its addresses, each with the GID that stands for it; the other end has as many, each on the same subnet as the one
   * here.
   */
  readonly addresses: readonly { readonly address: string; readonly gidIndex: number }[];
  /** Its distance between CNPs in nanoseconds, where it sends some and we know. */
  readonly minTimeBetweenCnpsNs?: number;
}

/** The devices and their wire, for one scenario. */
export interface TrafficTestbed {
  readonly ends: Readonly<Record<TrafficEnd, TestbedEnd>>;
  /** Real time: clocks are not exact. */
  readonly live: boolean;
  /** Lets time pass until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T>;
  sleep(durationNs: number): Promise<void>;
  /** Ends the wire and gives the capture of the bump. */
  finish(): Promise<Uint8Array>;
}

/** Gives a stage for one scenario after another; there is one at a time. */
export interface TestbedFactory {
  open(rules: readonly WireRule[]): Promise<TrafficTestbed>;
  close(): Promise<void>;
}
