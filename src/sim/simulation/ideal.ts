/**
 * How long a flow would take if it had the network for itself: the reference of slowdowns. Owns the calculation:
 * packets at line rate through every link of the way, one behind the other, and the ACK of the last one back. To within
 * a few nanoseconds, what the extended header of each work request's first packet takes on other links than the
 * slowest, the simulated network does exactly this.
 */

import { AETH_BYTES } from '../../../packets/aeth.ts';
import { BTH_BYTES } from '../../../packets/bth.ts';
import { ETHERNET_BYTES } from '../../../packets/ethernet.ts';
import { ICRC_BYTES } from '../../../packets/icrc.ts';
import { IPV4_BYTES } from '../../../packets/ipv4.ts';
import { RETH_BYTES } from '../../../packets/reth.ts';
import { UDP_BYTES } from '../../../packets/udp.ts';

/** A link of the way. */
export interface Hop {
  /** Bits a second. */
  readonly rateBps: number;
  /** Nanoseconds. */
  readonly delayNs: number;
}

/** The flow on the path, and how switches forward it. */
export interface IdealOptions {
  /** Payload, whole. */
  readonly bytes: number;
  /** Of one work request. */
  readonly messageBytes: number;
  /** Payload of a full packet. */
  readonly mtu: number;
  /** As in `Flow`. */
  readonly operation: 'write' | 'send' | 'read';
  /** Bytes of a frame that a switch waits for when its next link is not faster; Infinity: all. */
  readonly forwardBytes: number;
  /** In every switch, nanoseconds. */
  readonly processingNs: number;
}

/** Nanoseconds from the first post to the ACK of the last byte; Infinity for a flow without an end. */
export function idealNs(path: readonly Hop[], options: IdealOptions): number {
  const { bytes, messageBytes, mtu, operation } = options;
  if (bytes === Infinity) return Infinity;
  const messages = Math.ceil(bytes / messageBytes);
  const lastMessage = bytes - (messages - 1) * messageBytes;
  const packets = (messages - 1) * Math.ceil(messageBytes / mtu) + Math.ceil(lastMessage / mtu);
  const lastPayload = lastMessage % mtu || mtu;
  const full = HEADER_BYTES + (packets > 1 ? mtu : lastPayload);
  const last = HEADER_BYTES + Math.ceil(lastPayload / 4) * 4;
  // A READ has an AETH in the first and the last packet of each answer.
  const extra = messages * (operation === 'write' ? RETH_BYTES : operation === 'read' ? 2 * AETH_BYTES : 0);
  const there = pipelineNs(path, options, packets, full, last) + extra / slowestBytesPerNs(path);
  const other = operation === 'read' ? READ_REQUEST_BYTES : ACK_FRAME_BYTES;
  return Math.round(there + pipelineNs([...path].reverse(), options, 1, other, other));
}

/** Until the last of so many packets has come out at the other end, all of `full` bytes but the last. */
function pipelineNs(path: readonly Hop[], options: IdealOptions, packets: number, full: number, last: number): number {
  const { forwardBytes, processingNs } = options;
  const delay = path.reduce((sum, { delayNs }) => sum + delayNs, 0) + (path.length - 1) * processingNs;
  if (forwardBytes !== Infinity) return delay + cutThroughNs(path, options, (packets - 1) * full + last);
  // Packets wait where a slower link, or a longer packet, is in front. Whatever link the last full packet is on when
  // the last one begins to matter, the sum over that way through time is a lower bound, and the largest of them is the
  // time.
  let most = 0;
  let sum = 0;
  let slowest = 0;
  let rest = path.reduce((total, hop) => total + nsOf(last, hop), 0);
  for (const hop of path) {
    sum += nsOf(full, hop);
    slowest = Math.max(slowest, nsOf(full, hop));
    const before = packets > 1 ? sum + (packets - 2) * slowest : 0;
    most = Math.max(most, before + rest);
    rest -= nsOf(last, hop);
  }
  return delay + most;
}

/** All bytes at the slowest link, and in front of every other one as much as a switch waits for. */
function cutThroughNs(path: readonly Hop[], { forwardBytes }: IdealOptions, bytes: number): number {
  const slowest = Math.min(...path.map(({ rateBps }) => rateBps));
  const waits = path.slice(0, -1).reduce((sum, hop) => sum + nsOf(Math.min(bytes, forwardBytes), hop), 0);
  return (8e9 * bytes) / slowest + waits;
}

function nsOf(bytes: number, { rateBps }: Hop): number {
  return (8e9 * bytes) / rateBps;
}

function slowestBytesPerNs(path: readonly Hop[]): number {
  return Math.min(...path.map(({ rateBps }) => rateBps)) / 8e9;
}

/** Of a packet in the middle of a message: 58 bytes. */
const HEADER_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES;
const ACK_FRAME_BYTES = HEADER_BYTES + AETH_BYTES;
const READ_REQUEST_BYTES = HEADER_BYTES + RETH_BYTES;
