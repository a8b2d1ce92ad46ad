/**
 * Set and Get Features, asynchronous events, and Abort: arguments, values and results.
 *
 * Owns layouts; values and results of four bytes are read with `ofNumber`. Rules: ref:nvmeof.
 */
import { ARGUMENT_BYTES } from './command.ts';
import { bits, flag, structure, u8, u16, u32, type ValuesOf } from './structure.ts';

/** Arguments of Set Features and Get Features. */
export const FEATURES = structure('Set or Get Features', ARGUMENT_BYTES, {
  /** The feature: one of `Feature`. */
  fid: u8(0),
  /** Get: which value, 0 current, 1 default, 2 saved, 3 capabilities. */
  sel: bits(8, 3),
  /** Set: keep the value. */
  save: flag(31),
  /** Set: the value. */
  value: u32(4),
  /** Set: more of it. */
  cdw12: u32(8),
});
/** Values of `FEATURES`. */
export type Features = ValuesOf<typeof FEATURES>;

/** Features. */
export const Feature = {
  /** Arbitration. */
  Arbitration: 0x01,
  /** Power. */
  PowerManagement: 0x02,
  /** Temperatures of warnings. */
  TemperatureThreshold: 0x04,
  /** How hard to try. */
  ErrorRecovery: 0x05,
  /** Volatile write cache: bit 0 enabled. */
  VolatileWriteCache: 0x06,
  /** Queues. */
  NumberOfQueues: 0x07,
  /** Atomicity. */
  WriteAtomicity: 0x0a,
  /** Which events are reported. */
  AsyncEventConfiguration: 0x0b,
  /** Keep-alive timeout, in milliseconds. */
  KeepAliveTimer: 0x0f,
  /** How the host behaves, 512 bytes of data. */
  HostBehavior: 0x16,
  /** Host identifier, 8 or 16 bytes of data. */
  HostIdentifier: 0x81,
  /** Write protection of a namespace. */
  WriteProtection: 0x84,
} as const;

/** Value and result of `Feature.NumberOfQueues`: asked for, and granted. Each less 1. */
export const NUMBER_OF_QUEUES = structure('Number of Queues', 4, {
  /** I/O submission queues, less 1. */
  nsq: u16(0),
  /** I/O completion queues, less 1. */
  ncq: u16(2),
});
/** Values of `NUMBER_OF_QUEUES`. */
export type NumberOfQueues = ValuesOf<typeof NUMBER_OF_QUEUES>;

/** Value of `Feature.AsyncEventConfiguration`; OAES of a controller has the same bits. */
export const ASYNC_EVENT_CONFIGURATION = structure('Asynchronous Event Configuration', 4, {
  /** Critical warnings of SMART. */
  smart: u8(0),
  /** Namespaces have changed. */
  namespaceAttribute: flag(8),
  /** Firmware is being activated. */
  firmwareActivation: flag(9),
  /** ANA has changed. */
  anaChange: flag(11),
  /** The discovery log has changed. */
  discoveryChange: flag(31),
});
/** Values of `ASYNC_EVENT_CONFIGURATION`. */
export type AsyncEventConfiguration = ValuesOf<typeof ASYNC_EVENT_CONFIGURATION>;

/** Dword 11 of the host identifier feature. */
export const HOST_IDENTIFIER = structure('Host Identifier', 4, {
  /** 16 bytes instead of 8: always so over Fabrics. */
  exhid: flag(0),
});
/** Values of `HOST_IDENTIFIER`. */
export type HostIdentifier = ValuesOf<typeof HOST_IDENTIFIER>;

/** Dword 0 of the completion of an Asynchronous Event Request. */
export const ASYNC_EVENT = structure('Asynchronous event', 4, {
  /** One of `AsyncEventType`. */
  type: bits(0, 3),
  /** What has happened, by type. */
  info: u8(1),
  /** The log page that tells more; reading it lets the next event of this type come. */
  logPage: u8(2),
});
/** Values of `ASYNC_EVENT`. */
export type AsyncEvent = ValuesOf<typeof ASYNC_EVENT>;

/** Types of events. */
export const AsyncEventType = {
  /** An error. */
  Error: 0,
  /** SMART. */
  Smart: 1,
  /** Something has changed. */
  Notice: 2,
  /** Of the command set. */
  CommandSet: 6,
  /** The vendor's. */
  Vendor: 7,
} as const;

/** `info` of a notice. */
export const AsyncNotice = {
  /** Namespaces have changed: page 04h. */
  NamespaceAttribute: 0x00,
  /** Firmware is being activated. */
  FirmwareActivation: 0x01,
  /** ANA has changed: page 0Ch. */
  AnaChange: 0x03,
  /** The discovery log has changed: page 70h. */
  DiscoveryChange: 0xf0,
} as const;

/** Arguments of Abort. */
export const ABORT = structure('Abort', ARGUMENT_BYTES, {
  /** Queue of the command. */
  sqid: u16(0),
  /** The command. */
  cid: u16(2),
});
/** Values of `ABORT`. */
export type Abort = ValuesOf<typeof ABORT>;

/** Dword 0 of the completion of Abort: bit 0, the command was not aborted. */
export const ABORT_RESULT_NOT_ABORTED = 1;
