/**
 * The one interface between a device and a wire: frames in batches, valid only during the call.
 * A link copies what it wants to keep, keeps the order of frames, and never calls its sink from inside `send`.
 */

import type { IpAddress } from '../../packets/address.ts';
import type { RoceError } from '../../packets/errors.ts';
import type { FrameBatch, Medium } from '../../packets/index.ts';

/** Receives what a link delivers. */
export interface LinkSink {
  /** Frames that arrived; the batch belongs to the link again when the call returns. */
  receive(batch: FrameBatch): void;
  /** After a short `send`: the link takes frames again. */
  writable(): void;
  /** The link has ended, by `close` (no error) or by itself. Called once. */
  closed(error?: RoceError): void;
}

/**
 * Of which IP versions a link carries the traffic class, the TOS of IPv4: DSCP and ECN. No ICRC covers it, so a link
 * that does not carry it works all the same.
 */
export interface LinkEcn {
  /**
   * Packets that leave with the traffic class that the device wrote. Others leave with 0: a device must not claim that
   * they are ECN-capable.
   */
  readonly set: readonly (4 | 6)[];
  /**
   * Packets that are delivered with the traffic class with which they arrived, congestion marks included. Others show
   * 0, and marks are lost.
   */
  readonly read: readonly (4 | 6)[];
  /** Where one of them lacks a version that the link carries: why, and what helps. */
  readonly reason?: string;
}

/** Whether packets of an IP version leave `link` with the traffic class that the device wrote. */
export function setsEcn({ ecn }: Link, version: 4 | 6): boolean {
  return ecn === undefined || ecn.set.includes(version);
}

/** Whether packets of an IP version are delivered by `link` with the traffic class that they arrived with. */
export function readsEcn({ ecn }: Link, version: 4 | 6): boolean {
  return ecn === undefined || ecn.read.includes(version);
}

/** How an open link is read without the event loop: `begin`, `poll` again and again, `end`. */
export interface LinkPoller {
  /** From now on what comes need not wake this thread. */
  begin(): void;
  /** Delivers what has come by now, a bounded number of frames, without waiting; whether there was something. */
  poll(): boolean;
  /** What comes from now on, or came since the last `poll`, wakes this thread. */
  end(): void;
}

/** A wire: a socket, an interface, a port of a simulated network. */
export interface Link {
  /** As typed on a command line, `qemu:/tmp/guest.sock`; also the interface name in captures. */
  readonly name: string;
  /** What frames begin with. */
  readonly medium: Medium;
  /** Largest IP packet the medium carries, in bytes. */
  readonly mtu: number;
  /**
   * The kernel's addresses with prefix lengths, `10.0.0.1/24`, on a link that shares them; a device has those when it
   * is given none.
   */
  readonly addresses?: readonly string[] | undefined;
  /** The UDP source port that every frame has to carry, where the kernel writes it: the ICRC covers it. Absent: any. */
  readonly sourcePort?: number | undefined;
  /**
   * Packets a queue pair may have unacknowledged without overrunning the buffers of this link. Absent: the device's
   * default.
   */
  readonly maxUnacked?: number | undefined;
  /**
   * Which parts of the traffic class pass. Absent: all of it, as of every other byte. Final once `start` has resolved;
   * before, what is expected.
   */
  readonly ecn?: LinkEcn | undefined;
  /**
   * The link makes the ICRC of what it sends and verifies that of what it delivers, as NICs do, or has no need of it:
   * frames are given to it with an ICRC of 0, and one that it delivers is whole. Absent: the device does both.
   */
  readonly icrcOffload?: boolean | undefined;
  /** What is sent comes back: a capture shows it when it is sent, and not again. Absent: it does not. */
  readonly reflects?: boolean | undefined;
  /** Begins delivery; resolves when frames can be sent. Rejects with ERR_ROCE_LINK_UNAVAILABLE. */
  start(sink: LinkSink): Promise<void>;
  /** Takes frames `from .. batch.count - 1` in order and returns how many it took; fewer means: wait for `writable`. */
  send(batch: FrameBatch, from: number): number;
  /** Absent: frames come by the event loop only. */
  readonly poller?: LinkPoller | undefined;
  /**
   * Asks the kernel for datagrams to a multicast group; resolves when they would come. Only links that share the
   * kernel's addresses have it, and not all of these. Rejects with ERR_ROCE_LINK_UNAVAILABLE.
   */
  join?: ((group: IpAddress) => Promise<void>) | undefined;
  /** Ends what `join` began. */
  leave?: ((group: IpAddress) => void) | undefined;
  /**
   * Ends delivery and frees what the link holds. A start that is under way is waited for, and rejects with
   * ERR_ROCE_CLOSED unless it was in time. Frames already taken by `send` are still delivered where the medium can.
   */
  close(): Promise<void>;
}

/** Of a link that carries whole IP packets. */
export const WHOLE_PACKETS: LinkEcn = { set: [4, 6], read: [4, 6] };
