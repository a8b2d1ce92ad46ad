/** A case: a script that decides one rule or several. */
import type { Feature } from '../host-control/host-control.ts';
import type { Tester } from './tester.ts';

/** What a case takes; where it is missing the rule does not apply, or is inconclusive without host control. */
export type Need =
  | Feature
  /** An agent that posts work and reads completions on the device's host. */
  | 'host-control'
  /** Frames of ours reach the device with their Ethernet header. */
  | 'ethernet'
  /** The device has an address of this version. */
  | 'ipv4'
  | 'ipv6'
  /** Waits of hours, or millions of packets: virtual time only. */
  | 'virtual';

export interface Case {
  /** Ids of the rules it decides: all get the same verdict. */
  readonly rules: readonly string[];
  /** Which of several cases of a rule it is, a few words; absent where there is one. */
  readonly title?: string;
  readonly needs?: readonly Need[];
  /**
   * A device that does not check before it acts may not survive it. It runs against devices that may be crashed
   * (`Dut.throwAway`), and against others only where the user has asked for it (`RunOptions.hazardous`).
   */
  readonly hazardous?: true;
  /** Run with every starting PSN near a border of the number space, not with one. */
  readonly psnSweep?: boolean;
  /**
   * The script. Returns when the device did as it must; throws `Violation`, `Inconclusive` or `NotApplicable`
   * otherwise. What is legal but worth telling it gives to `t.variation`.
   */
  readonly run: (t: Tester) => Promise<void>;
}
