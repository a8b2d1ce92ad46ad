/**
 * The interface between a device and what gives it time: the driver with the real clock, or the simulated world. Both
 * call exactly these, in this order, so the same machine runs on a wire, in a simulation and in a browser.
 */
import type { FrameBatch, FrameWriter, IpAddress } from '../../packets/index.ts';

/**
 * What a host does for multicast where the kernel has the addresses; a host of our own on Ethernet needs none of it.
 */
export interface GroupHost {
  /** Asks the kernel for datagrams to a group; resolves when they would come. Absent: this wire cannot. */
  joinGroup?(group: IpAddress): Promise<void>;
  /** Ends what `joinGroup` began. */
  leaveGroup?(group: IpAddress): void;
}

/** What a machine receives from its host. */
export interface Host extends GroupHost {
  /** Monotonic time in integer nanoseconds. */
  now(): number;
  /**
   * Called when the machine has frames to send or a new deadline: any number of times, cheap, never re-enters the
   * machine.
   */
  wake(): void;
}

/** What a driver or a world drives. */
export interface Machine {
  /** Hands over frames that arrived; never throws for their content. */
  receive(batch: FrameBatch): void;
  /** Appends frames that are due until nothing is due or the writer is full; true when more would be due at once. */
  transmit(writer: FrameWriter): boolean;
  /** True: `transmit` would append nothing now, and change nothing. Absent: not known. */
  readonly idle?: boolean;
  /** Earliest time at which `handleTimeouts` has something to do, in nanoseconds; Infinity when never. */
  nextDeadline(): number;
  /** Does what the deadline was for; called when it has come, and at any time before. */
  handleTimeouts(): void;
  /**
   * Frames that were appended at `sinceNs` left the host at `untilNs` only, or have not left by then: the link took no
   * more. Timers that wait for answers to them start at `untilNs`. Absent: no timer waits for answers.
   */
  held?(sinceNs: number, untilNs: number): void;
}
