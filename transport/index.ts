/** The protocol, sans I/O: queue pairs, memory, completion queues. See ARCHITECTURE.md for how a packet travels. */
export { InvariantError, RoceError, type RoceErrorCode } from '../packets/errors.ts';
export { RNR_TIMER_NS } from '../packets/rnr-timer.ts';
export { AddressHandle } from './address-handle.ts';
export * from './cm/index.ts';
export * from './completion-queue.ts';
export * from './counters.ts';
export * from './memory.ts';
export { MigState, type QpAttributes } from './qp-attributes.ts';
export type { QpIdentity, QpPath } from './qp-config.ts';
export * from './qp-state.ts';
export { QpType } from './qp-type.ts';
export { type QpCapabilities, type QpEvent, QueuePair } from './queue-pair.ts';
export type { Random } from './random.ts';
export { RcQueuePair } from './rc-queue-pair.ts';
export { MAX_MESSAGE_BYTES } from './send-queue.ts';
export { ackTimeoutNs } from './timers.ts';
export { UdQueuePair } from './ud-queue-pair.ts';
export * from './work.ts';
