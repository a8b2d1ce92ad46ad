/**
 * The protocol, sans I/O: queue pairs, memory, completion queues. See `ARCHITECTURE.md` for how a packet travels.
 *
 * @module rocev2/transport
 */
export { InvariantError, RoceError, type RoceErrorCode } from '../packets/errors.ts';
export { RNR_TIMER_NS } from '../packets/rnr-timer.ts';
export { AddressHandle } from './address-handle.ts';
export * from './cm/index.ts';
export * from './completion-queue.ts';
export * from './congestion/index.ts';
export type { CopiedMemory } from './copied-memory.ts';
export * from './counters.ts';
export { DEFAULT_DEFENCES, type Defences } from './defences.ts';
export type { Grant, GrantMemory, GrantTerms, Persist } from './grant.ts';
export type {
  QpInspection,
  ReceiveInspection,
  ReplayInspection,
  ReplyInspection,
  RequesterInspection,
  ResponderInspection,
  SendInspection,
} from './inspection.ts';
export { type BindTerms, type FastTerms, type KeyHolder, KeyTable, type KeyUser } from './key-table.ts';
export * from './memory.ts';
export { DEFAULT_PEER_PROFILE, PEER_PROFILES, type PeerProfile, peerProfile, type Sourced } from './peer-profile.ts';
export { TransportPools } from './pools.ts';
export { MigState, type QpAttributes } from './qp-attributes.ts';
export type { QpCapabilities } from './qp-capabilities.ts';
export type { QpConfig, QpSettings } from './qp-config.ts';
export type { QpEvent, QpSignal } from './qp-event.ts';
export type { QpCongestion, QpIdentity } from './qp-identity.ts';
export type { QpPath } from './qp-path.ts';
export { canModify, QP_STATE_NAMES, QpState } from './qp-state.ts';
export { QpType } from './qp-type.ts';
export { QueuePair } from './queue-pair.ts';
export type { Random } from './random.ts';
export { RcQueuePair } from './rc-queue-pair.ts';
export type { ReceiveSource } from './recv-queue.ts';
export { MAX_MESSAGE_BYTES } from './send-queue.ts';
export * from './srq.ts';
export { ackTimeoutNs } from './timers.ts';
export type { QpTrace, RequestJudgement, RetryTrigger } from './trace.ts';
export { UcQueuePair } from './uc-queue-pair.ts';
export { UdQueuePair } from './ud-queue-pair.ts';
export { UnreliableQueuePair } from './unreliable-queue-pair.ts';
export * from './work.ts';
export { XrcDomain, type XrcReceiveQueue } from './xrc-domain.ts';
export { XrcInitiator, XrcTarget } from './xrc-queue-pair.ts';
