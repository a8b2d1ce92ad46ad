/**
 * The sizes of an rsocket: what an application may ask for, the defaults, and the limits (rdma:rsocket.c#rsetsockopt,
 * rdma:rsocket.c#rs_set_qp_size).
 */
import { RoceError } from '../../../packets/errors.ts';
import type { RdmaDevice } from '../../device/api.ts';
import { MAX_IOMAPS, MESSAGE_BYTES, scaledValue, scaleOf } from './protocol.ts';

/** Fixed at connection time. Absent ones take the defaults in brackets. */
export interface RSocketOptions {
  /** Bytes that may be under way, 2048 to 2^29 [131072]. SO_SNDBUF of rsocket sets half of it. */
  readonly sendBuffer?: number;
  /**
   * Bytes that may wait to be received, even, 2 to 2^29 [131072]; the peer fills one half after the other. SO_RCVBUF
   * sets half of it.
   */
  readonly receiveBuffer?: number;
  /** Send work requests, 16 to 65534 and at most the device's (RDMA_SQSIZE) [384]. */
  readonly sendQueue?: number;
  /**
   * Receive work requests, 16 to 65534 and at most the device's: messages that the peer may have under way
   * (RDMA_RQSIZE) [384].
   */
  readonly receiveQueue?: number;
  /** Bytes up to which data is copied into the work request, at most the device's (RDMA_INLINE) [64]. */
  readonly inline?: number;
  /** Buffers that the peer may map, 0 to 32512; above 128 rounded down to a multiple of 256 (RDMA_IOMAPSIZE) [0]. */
  readonly iomaps?: number;
  /**
   * Sends messages as SENDs of 4 bytes instead of immediate data, as rsocket does on iWARP, which has no WRITE with
   * immediate [false]. Both sides have to agree; it is not negotiated.
   */
  readonly messageSend?: boolean;
}

/** The sizes a socket has. */
export type RSocketSettings = Required<RSocketOptions>;

/** @throws RoceError ERR_ROCE_ARGUMENT for a size out of range */
export function settingsOf(device: RdmaDevice, options: RSocketOptions): RSocketSettings {
  const { maxInlineData, maxQpWr } = device.limits;
  const maxQueue = Math.min(maxQpWr, MAX_QUEUE);
  const receiveBuffer = checked('receiveBuffer', options.receiveBuffer ?? DEFAULT_BUFFER, 2, MAX_BUFFER);
  if (receiveBuffer % 2 !== 0) throw new RoceError('ERR_ROCE_ARGUMENT', 'receiveBuffer is an even number');
  const messageSend = options.messageSend ?? false;
  return {
    sendBuffer: checked('sendBuffer', options.sendBuffer ?? DEFAULT_BUFFER, SEND_LOW_WATER, MAX_BUFFER),
    receiveBuffer,
    sendQueue: checked('sendQueue', options.sendQueue ?? Math.min(DEFAULT_QUEUE, maxQueue), MIN_QUEUE, maxQueue),
    receiveQueue: checked(
      'receiveQueue',
      options.receiveQueue ?? Math.min(DEFAULT_QUEUE, maxQueue),
      MIN_QUEUE,
      maxQueue,
    ),
    inline: checked(
      'inline',
      options.inline ?? Math.min(DEFAULT_INLINE, maxInlineData),
      messageSend ? MESSAGE_BYTES : 0,
      maxInlineData,
    ),
    iomaps: scaledValue(scaleOf(checked('iomaps', options.iomaps ?? 0, 0, MAX_IOMAPS))),
    messageSend,
  };
}

function checked(name: string, value: number, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from ${min} to ${max}, not ${value}`);
  return value;
}

/** Send buffer that has to be free before anything more is sent (RS_SNDLOWAT). */
export const SEND_LOW_WATER = 2048;
/** Send work requests kept for control messages, so that credits never wait for data (RS_QP_CTRL_SIZE). */
export const CONTROL_SLOTS = 4;

const DEFAULT_BUFFER = 1 << 17;
const MAX_BUFFER = 2 ** 29;
const DEFAULT_QUEUE = 384;
const MIN_QUEUE = 16;
const MAX_QUEUE = 0xff_fe;
const DEFAULT_INLINE = 64;
