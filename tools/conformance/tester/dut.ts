/**
 * The device under test, as cases see it: our station on its wire, host control on its host where there are some, and
 * what may be expected of its speed.
 */
import type { IpAddress } from 'rocev2/packets';
import type { Feature, HostControl } from '../host-control/host-control.ts';
import type { TesterStation } from './station.ts';

export interface Dut {
  /** As reports call it: `in-process`, `lab:6.12`, an address. */
  readonly name: string;
  /**
   * What deviations are known of (`Deviation.device`): `rocev2`, `rxe`, or what the host control say of their driver.
   */
  readonly device: string;
  /** As deviations name versions: `6.1`. */
  readonly version: string;
  readonly station: TesterStation;
  /**
   * Absent: the wire alone; connections are then made by the connection manager, with the target that listens there.
   */
  readonly hostControl: HostControl | undefined;
  /** What it can do beyond RC, as its host control or its operator says; undefined where neither does. */
  readonly features: readonly Feature[] | undefined;
  /** Addresses of the device, and which GID each is; at least one. */
  readonly addresses: readonly DutAddress[];
  /** For devices without host control: the port of the target (docs/conformance.md). */
  readonly targetPort: number;
  /** How long an answer that has to come may take, in nanoseconds. */
  readonly patienceNs: number;
  /** How long to listen where a silence cannot be proven by a sentinel, in nanoseconds. */
  readonly quietNs: number;
  /** Between two looks at what host control has to be asked for (completions, events), in nanoseconds. */
  readonly pollNs: number;
  /** True in virtual time: waits cost nothing, and no two runs differ. */
  readonly virtual: boolean;
  /**
   * It may be crashed, for there is another one where it came from: our own stack, a guest of the lab. Hazardous cases
   * run against it.
   */
  readonly throwAway: boolean;
  /** Why the device is gone; undefined while it lives. */
  readonly gone: string | undefined;
  /** Lets time pass until `promise` settles: virtual time moves only then. */
  run<T>(promise: Promise<T>): Promise<T>;
  /**
   * Puts a fresh device in the place of one that is gone or behaves as if; `why` is for a log. @throws RoceError when
   * there is none to be had
   */
  renew(why?: string): Promise<void>;
  close(): Promise<void>;
}

export interface DutAddress {
  readonly address: IpAddress;
  readonly gidIndex: number;
  /** Our own address that speaks to it. */
  readonly ours: IpAddress;
}
