/**
 * Fabrics commands: what dwords 10 to 15 of each carry, the data of Connect, and what Connect returns.
 *
 * Owns layouts. Arguments are structures of 24 bytes for `NvmeCommand.arguments`. Rules: ref:nvmeof.
 */
import { ARGUMENT_BYTES } from './command.ts';
import { bits, bytes, flag, structure, u8, u16, u32, u64, utf8, type ValuesOf } from './structure.ts';

/** Room for a qualified name in every structure, in bytes. */
export const NQN_FIELD_BYTES = 256;
/** A qualified name has at most as many bytes, without the zero byte behind it. */
export const NQN_MAX_BYTES = 223;
/** The subsystem that every discovery controller answers to. */
export const DISCOVERY_NQN = 'nqn.2014-08.org.nvmexpress.discovery';
/** `cntlid` of a Connect that lets the target choose a controller. */
export const CNTLID_DYNAMIC = 0xff_ff;

/** Connect. */
export const CONNECT = structure('Connect', ARGUMENT_BYTES, {
  /** Format of the data: 0. */
  recfmt: u16(0),
  /** The queue: 0 the admin queue. */
  qid: u16(2),
  /** Entries of the submission queue, less 1. */
  sqsize: u16(4),
  /** Priority class, bits 0 and 1; bit 2: the host does not want flow control of the submission queue. */
  cattr: u8(6),
  /** Keep-alive timeout of the controller, in milliseconds; 0 none. Of the admin queue. */
  kato: u32(8),
});
/** Values of `CONNECT`. */
export type Connect = ValuesOf<typeof CONNECT>;

/** Data of Connect. */
export const CONNECT_DATA = structure('Connect data', 1024, {
  /** Identifier of the host, 16 bytes. */
  hostid: bytes(0, 16),
  /** The controller; `CNTLID_DYNAMIC` on the admin queue. */
  cntlid: u16(16),
  /** Name of the subsystem. */
  subnqn: utf8(256, NQN_FIELD_BYTES),
  /** Name of the host. */
  hostnqn: utf8(512, NQN_FIELD_BYTES),
});
/** Values of `CONNECT_DATA`. */
export type ConnectData = ValuesOf<typeof CONNECT_DATA>;

/** Where the fields of `CONNECT` are in the command, and those of `CONNECT_DATA` in the data: what refusals name. */
export const ConnectOffset = {
  /** In the command. */
  Recfmt: 40,
  /** In the command. */
  Qid: 42,
  /** In the command. */
  Sqsize: 44,
  /** In the command. */
  Kato: 48,
  /** In the data. */
  Hostid: 0,
  /** In the data. */
  Cntlid: 16,
  /** In the data. */
  Subnqn: 256,
  /** In the data. */
  Hostnqn: 512,
} as const;

/** Dword 0 of a successful Connect. */
export const CONNECT_RESULT = structure('Connect result', 4, {
  /** The controller. */
  cntlid: u16(0),
  /** Authentication is demanded before anything else. */
  authRequired: flag(17),
  /** Authentication by a secure channel is demanded. */
  secureChannelRequired: flag(18),
});
/** Values of `CONNECT_RESULT`. */
export type ConnectResult = ValuesOf<typeof CONNECT_RESULT>;

/** Dword 0 of a Connect that was refused for a parameter (status `ConnectInvalidParameters`). */
export const CONNECT_REFUSAL = structure('Connect refusal', 4, {
  /** Where the parameter begins, in bytes. */
  ipo: u16(0),
  /** Whether it is in the data: `ipo` counts from the start of the data then, else from that of the command. */
  inData: flag(16),
});
/** Values of `CONNECT_REFUSAL`. */
export type ConnectRefusal = ValuesOf<typeof CONNECT_REFUSAL>;

/** Property Get, and the first half of Property Set. */
export const PROPERTY = structure('Property Get or Set', ARGUMENT_BYTES, {
  /** 0 for a property of four bytes, 1 for one of eight. */
  size: bits(0, 3),
  /** The property: its offset in the registers of a controller on PCI Express. */
  offset: u32(4),
  /** Property Set: the value. */
  value: u64(8),
});
/** Values of `PROPERTY`. */
export type Property = ValuesOf<typeof PROPERTY>;

/** Authentication Send and Receive. */
export const AUTHENTICATION = structure('Authentication Send or Receive', ARGUMENT_BYTES, {
  /** Specific to the protocol: 1 for DH-HMAC-CHAP. */
  spsp0: u8(1),
  /** Specific to the protocol: 1 for DH-HMAC-CHAP. */
  spsp1: u8(2),
  /** Security protocol: 0xe9 is that of NVMe. */
  secp: u8(3),
  /** Bytes of the message: sent, or room for it. */
  length: u32(4),
});
/** Values of `AUTHENTICATION`. */
export type Authentication = ValuesOf<typeof AUTHENTICATION>;

/** `secp` of the authentication of NVMe. */
export const SECP_NVME = 0xe9;

/** Disconnect. */
export const DISCONNECT = structure('Disconnect', ARGUMENT_BYTES, {
  /** Format: 0. */
  recfmt: u16(0),
});
/** Values of `DISCONNECT`. */
export type Disconnect = ValuesOf<typeof DISCONNECT>;
