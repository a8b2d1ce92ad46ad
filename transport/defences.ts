/**
 * What a queue pair does beyond the plain protocol about packets that no honest peer sends (ref:hostile#3): one record
 * of settings, shared by all queue pairs of a device. Owns the names, the defaults and their ranges.
 */
import { RoceError } from '../packets/errors.ts';

/** Settings of a device against hostile packets. The defaults cost an honest peer nothing, or what they say. */
export interface Defences {
  /**
   * PSNs an honest peer may be ahead of the expected one, or behind it, in packets, 1 to 2^23 - 1; default 65,536. A
   * READ of more response packets than a quarter of this widens it to four times its own. Requests outside are counted
   * (`psnOutsideWindow`), and draw at most 8 answers at once and 100 a second: sequence NAKs for those ahead, what a
   * duplicate draws for those behind. 2^23 - 1 switches that off. Cost: where so many packets are lost in a row, and
   * the answers are used up, the requester recovers by its ACK timer.
   */
  readonly psnWindow: number;
  /**
   * Bytes of READ responses that may leave after the newest sign of life of the peer: a request that was executed, a
   * READ or atomic that was repeated, an ACK or response that acknowledges something. 4096 or more; default 64 MiB;
   * Infinity: no limit. Then the packets of a READ up to its last one are left out, as if the network had lost them: a
   * requester that is there asks for the rest. Cost: one round trip for each such number of bytes, or one ACK timeout
   * with a requester that waits for its timer (rdma_rxe).
   */
  readonly maxReadResponseBytes: number;
  /**
   * Least time between two congestion notifications for one flow that are acted upon, on average, in nanoseconds, 0 or
   * more. Default 4,000, the shortest that a receiver is known to keep (ref:dcqcn#2), or the device's own
   * `minTimeBetweenCnpsNs` where that is less. Others are counted (`rpCnpExcess`), as are those for more frames than
   * were sent. While more come than an honest receiver sends (64 at once are let pass for that), and for a millisecond
   * after, one in a millisecond is acted upon. Cost: none to a flow whose receiver keeps the interval.
   */
  readonly minCnpIntervalNs: number;
  /**
   * Connected queue pairs drop packets from another UDP source port than that of the first packet that was executed or
   * that acknowledged something, UC those from another than that of the first one (`badSourcePort`). Default false: a
   * peer may change its port, which spreads a flow over paths. A path migration, and a new connection, begin again.
   */
  readonly strictUdpSport: boolean;
}

/** What a device has by default. */
export const DEFAULT_DEFENCES: Defences = {
  psnWindow: 0x1_00_00,
  maxReadResponseBytes: 2 ** 26,
  minCnpIntervalNs: 4000,
  strictUdpSport: false,
};

/**
 * `DEFAULT_DEFENCES` with the given values instead, and with the device's own interval between CNPs where that is
 * shorter than the default. @throws RoceError ERR_ROCE_ARGUMENT for a number out of range
 */
export function makeDefences(asked: Partial<Defences>, ownCnpIntervalNs = Infinity): Defences {
  const minCnpInterval = Math.min(DEFAULT_DEFENCES.minCnpIntervalNs, ownCnpIntervalNs);
  const made = { ...DEFAULT_DEFENCES, minCnpIntervalNs: minCnpInterval, ...asked };
  const { psnWindow, maxReadResponseBytes, minCnpIntervalNs } = made;
  if (!Number.isInteger(psnWindow) || psnWindow < 1 || psnWindow > MAX_PSN_WINDOW)
    throw new RoceError('ERR_ROCE_ARGUMENT', `psnWindow is a whole number from 1 to 2^23 - 1, not ${psnWindow}`);
  if (!(maxReadResponseBytes >= MAX_PAYLOAD))
    throw new RoceError('ERR_ROCE_ARGUMENT', `maxReadResponseBytes is 4096 or more, not ${maxReadResponseBytes}`);
  if (!(minCnpIntervalNs >= 0 && minCnpIntervalNs < Infinity))
    throw new RoceError('ERR_ROCE_ARGUMENT', `minCnpIntervalNs is 0 or more, not ${minCnpIntervalNs}`);
  return made;
}

/** Beyond it a PSN is of the past. */
export const MAX_PSN_WINDOW = 2 ** 23 - 1;
const MAX_PAYLOAD = 4096;
