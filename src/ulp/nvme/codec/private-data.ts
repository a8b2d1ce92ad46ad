/**
 * Private data of the connection manager with which a queue of NVMe is asked for, granted and refused.
 *
 * Owns three layouts and the reasons of a refusal. The field of a message is longer than these: readers take the
 * beginning. Rules: ref:nvmeof.
 */
import { structure, u16, type ValuesOf } from './structure.ts';

/** In a REQ: the queue that is asked for. */
export const CM_REQUEST = structure('NVMe RDMA request private data', 32, {
  /** Format of these bytes: 0. */
  recfmt: u16(0),
  /** The queue: 0 the admin queue. */
  qid: u16(2),
  /** Receives that the host posts for responses: the queue's size. */
  hrqsize: u16(4),
  /** Commands that the host has outstanding, less 1. */
  hsqsize: u16(6),
  /** The controller that an I/O queue is for, where the host knows it; 0 from hosts of older specifications. */
  cntlid: u16(8),
});
/** Values of `CM_REQUEST`. */
export type CmRequest = ValuesOf<typeof CM_REQUEST>;

/** In a REP. */
export const CM_REPLY = structure('NVMe RDMA reply private data', 32, {
  /** Format of these bytes: 0. */
  recfmt: u16(0),
  /** Receives that the controller posts for commands. */
  crqsize: u16(2),
});
/** Values of `CM_REPLY`. */
export type CmReply = ValuesOf<typeof CM_REPLY>;

/** In a REJ. */
export const CM_REJECT = structure('NVMe RDMA reject private data', 4, {
  /** Format of these bytes: 0. */
  recfmt: u16(0),
  /** One of `CmRejectStatus`. */
  sts: u16(2),
});
/** Values of `CM_REJECT`. */
export type CmReject = ValuesOf<typeof CM_REJECT>;

/** Format of the private data: the only one. */
export const RECFMT = 0;

/** Why a queue is refused. */
export const CmRejectStatus = {
  /** The private data is too short. */
  InvalidLength: 0x01,
  /** Another format. */
  InvalidRecordFormat: 0x02,
  /** A queue that the controller has not, or has already. */
  InvalidQueueId: 0x03,
  /** More commands than the controller takes, or none. */
  InvalidHostSqSize: 0x04,
  /** Fewer receives than commands. */
  InvalidHostRqSize: 0x05,
  /** Nothing is left for a queue. */
  NoResources: 0x06,
  /** READs that a peer answers at a time: too few or too many. */
  InvalidIrd: 0x07,
  /** READs that a peer has outstanding: too few or too many. */
  InvalidOrd: 0x08,
  /** No such controller. */
  InvalidControllerId: 0x09,
} as const;

/** A refusal in words. */
export function cmRejectName(status: number): string {
  return REJECT_NAMES[status] ?? `reason ${status}`;
}

const REJECT_NAMES: readonly (string | undefined)[] = [
  undefined,
  'invalid length of private data',
  'invalid record format',
  'invalid queue identifier',
  'invalid host submission queue size',
  'invalid host receive queue size',
  'no resources',
  'invalid IRD',
  'invalid ORD',
  'invalid controller identifier',
];
