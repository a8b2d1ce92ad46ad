/**
 * `rocev2/browser`: all of rocev2 that needs no Node: devices, verbs, the connection manager, and the simulated world
 * to run them in. A bundler that knows the condition `browser` takes it for `rocev2`, too.
 *
 * @module rocev2/browser
 */
export { formatMac, IpAddress, IpPrefix, type MacAddress, parseMac } from '../packets/address.ts';
export {
  CmAprStatus,
  CmRejReason,
  CmSidrStatus,
  type CmTransportService,
  cmRejReasonName,
  cmSidrStatusName,
  RDMA_UDP_QKEY,
} from '../packets/cm/index.ts';
export { type Errno, InvariantError, RoceError, type RoceErrorCode } from '../packets/errors.ts';
export { Medium } from '../packets/frame.ts';
export {
  Access,
  type CongestionOptions,
  type ControllerSpec,
  DEFAULT_DEFENCES,
  type Defences,
  type FastReg,
  type FixedRateReaction,
  FlushLevel,
  FlushType,
  type Grant,
  type MemoryRegion,
  type MemoryWindow,
  MigState,
  MLX_DEFAULTS,
  type MlxParameters,
  type MlxReaction,
  type MwBind,
  type NoReaction,
  type NotificationParameters,
  PAPER_DEFAULTS,
  type PaperParameters,
  type PaperReaction,
  PEER_PROFILES,
  type PeerProfile,
  type Persist,
  QP_STATE_NAMES,
  type QpEvent,
  QpState,
  QpType,
  type Random,
  type RateState,
  type RecvWr,
  type SendWr,
  type Sge,
  type SrqAttributes,
  type SrqEvent,
  WcOpcode,
  WcStatus,
  type WindowType,
  WorkCompletion,
  WrOpcode,
  wcStatusName,
} from '../transport/index.ts';
export type {
  CqEvent,
  DeviceEvent,
  EventStream,
  InternalErrorEvent,
  LinkFacts,
  OpenRdmaDevice,
  RdmaAcceptOptions,
  RdmaAh,
  RdmaCm,
  RdmaConnection,
  RdmaConnectionRequest,
  RdmaConnectOptions,
  RdmaCq,
  RdmaDevice,
  RdmaListener,
  RdmaListenUdOptions,
  RdmaMw,
  RdmaPd,
  RdmaQp,
  RdmaQpInit,
  RdmaResolveUdOptions,
  RdmaSrq,
  RdmaSrqInit,
  RdmaUdAnswer,
  RdmaUdDestination,
  RdmaUdListener,
  RdmaUdRequest,
  RdmaXrcd,
} from './device/api.ts';
export { AlternatePathRefused } from './device/cm/alternate-paths.ts';
export type { ConnectionTunables, DatagramPortSpace, ListenOptions } from './device/cm/api.ts';
export {
  type AcceptOptions,
  Connection,
  ConnectionRejected,
  ConnectionRequest,
  type ConnectOptions,
  Listener,
} from './device/cm/connection.ts';
export {
  type ListenUdOptions,
  type ResolveUdOptions,
  ServiceRefused,
  type UdAnswer,
  type UdDestination,
  UdRequest,
} from './device/cm/datagram-service.ts';
export type { UdListener } from './device/cm/datagrams.ts';
export type { FromSource } from './device/cm/fair-queue.ts';
export type { CmService } from './device/cm/service.ts';
export { DeviceCounters } from './device/counters.ts';
export { Device } from './device/device.ts';
export { replayFrame } from './device/internal-errors.ts';
export {
  DEFAULT_LIMITS,
  DEFAULT_STRANGER_LIMITS,
  type DeviceLimits,
  type DeviceOptions,
  type PathTraits,
  type StaticNeighbour,
  type StrangerLimits,
  type VlanOptions,
} from './device/options.ts';
export { SUSPICION_THRESHOLDS, type SuspicionCause, type SuspiciousEvent } from './device/suspicions.ts';
export type { DeviceTables } from './device/tables.ts';
export {
  type AddressVector,
  Ah,
  Cq,
  type ModifyAttributes,
  Mw,
  Pd,
  Qp,
  type QpInit,
  type RegMrOptions,
  Srq,
  type SrqInit,
  Xrcd,
} from './device/verbs/index.ts';
export type { CompiledRule } from './faults/compile.ts';
export type { TrackedConnection, TrackedConnectionEnd } from './faults/conversations.ts';
export type { NotifierCounters, NotifyOptions } from './faults/notifier.ts';
export type { PathCounters, PathObserver } from './faults/path.ts';
export type { FaultAction, FaultDirection, WireCondition, WireFaults, WireRule } from './faults/rule.ts';
export { AsyncQueue } from './ground/async-queue.ts';
export type { Link, LinkEcn, LinkPoller, LinkSink } from './ground/link.ts';
export type { Host, Machine } from './ground/machine.ts';
export { attachDevice, type SimulatedDeviceOptions } from './sim/attach-device.ts';
export { World, type WorldOptions } from './sim/world.ts';
