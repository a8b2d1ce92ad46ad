/**
 * The common header of a management datagram (MAD), and the facts about queue pair 1 that carries them.
 *
 *    0        base version      1   management class     2        class version   3        method
 *    4..5     status            6..7 class specific
 *    8..15    transaction id
 *   16..17    attribute id     18..19 reserved
 *   20..23    attribute modifier
 *   24..255   the attribute, laid out by class
 *
 * Owns: the 24 bytes above. Never: what a class puts behind them (packets/cm for connection management).
 * The caller has made sure that MAD_BYTES bytes are there; a MAD is never shorter (ref:conformance#CM-25).
 * Sources: ref:wire#10; the layout is what Wireshark prints for the captured MADs (test/vectors/cm-mads.ts).
 */

/** Size of every MAD in bytes, header included. */
export const MAD_BYTES = 256;
/** Size of the common header in bytes. */
export const MAD_HEADER_BYTES = 24;
/** Base version of every MAD. */
export const MAD_BASE_VERSION = 1;

/** The queue pair that takes general service MADs. */
export const GSI_QPN = 1;
/** Q_Key of queue pair 1 on every port (ref:wire#10). Its top bit marks it as privileged. */
export const GSI_QKEY = 0x80_01_00_00;
/** P_Key used for MADs on RoCE: the default partition, full member. */
export const GSI_PKEY = 0xff_ff;

/** Management classes. Only `Cm` is spoken by this project. */
export const ManagementClass = {
  /** Subnet management, routed by LID. */
  SubnLidRouted: 0x01,
  /** Subnet management, directed route. */
  SubnDirected: 0x81,
  /** Subnet administration. */
  SubnAdm: 0x03,
  /** Performance management. */
  Perf: 0x04,
  /** Baseboard management. */
  Bm: 0x05,
  /** Device management. */
  DeviceMgmt: 0x06,
  /** Connection management. */
  Cm: 0x07,
} as const;

/** MAD methods. Connection management uses `Send` for everything. */
export const MadMethod = {
  /** Requests an attribute. */
  Get: 0x01,
  /** Changes an attribute. */
  Set: 0x02,
  /** A datagram that is neither question nor answer. */
  Send: 0x03,
  /** Tells of an event. */
  Trap: 0x05,
  /** Passes on a trap. */
  Report: 0x06,
  /** The answer to Get and Set. */
  GetResp: 0x81,
} as const;

/** The common header, field by field. */
export interface MadHeader {
  /** 8 bits; `MAD_BASE_VERSION`. */
  readonly baseVersion: number;
  /** 8 bits, a `ManagementClass`. */
  readonly mgmtClass: number;
  /** 8 bits; 2 for connection management. */
  readonly classVersion: number;
  /** 8 bits, a `MadMethod`; the top bit marks a response. */
  readonly method: number;
  /** 16 bits; 0 unless a response reports an error. */
  readonly status: number;
  /** 16 bits, for the class to use; 0 in connection management. */
  readonly classSpecific: number;
  /** 64 bits; a reply echoes the value of the message it answers. */
  readonly transactionId: bigint;
  /** 16 bits: which attribute of the class follows. */
  readonly attributeId: number;
  /** 32 bits, further scope of the attribute. */
  readonly attributeModifier: number;
}

/** Reads the header of the MAD that starts at `offset`. */
export function readMadHeader(view: DataView, offset: number): MadHeader {
  return {
    baseVersion: view.getUint8(offset + BASE_VERSION_AT),
    mgmtClass: view.getUint8(offset + MGMT_CLASS_AT),
    classVersion: view.getUint8(offset + CLASS_VERSION_AT),
    method: view.getUint8(offset + METHOD_AT),
    status: view.getUint16(offset + STATUS_AT),
    classSpecific: view.getUint16(offset + CLASS_SPECIFIC_AT),
    transactionId: view.getBigUint64(offset + TRANSACTION_ID_AT),
    attributeId: view.getUint16(offset + ATTRIBUTE_ID_AT),
    attributeModifier: view.getUint32(offset + ATTRIBUTE_MODIFIER_AT),
  };
}

/** Writes all 24 bytes of the header, reserved ones as 0. */
export function writeMadHeader(view: DataView, offset: number, header: MadHeader): void {
  view.setUint8(offset + BASE_VERSION_AT, header.baseVersion);
  view.setUint8(offset + MGMT_CLASS_AT, header.mgmtClass);
  view.setUint8(offset + CLASS_VERSION_AT, header.classVersion);
  view.setUint8(offset + METHOD_AT, header.method);
  view.setUint16(offset + STATUS_AT, header.status);
  view.setUint16(offset + CLASS_SPECIFIC_AT, header.classSpecific);
  view.setBigUint64(offset + TRANSACTION_ID_AT, header.transactionId);
  view.setUint16(offset + ATTRIBUTE_ID_AT, header.attributeId);
  view.setUint16(offset + RESERVED_AT, 0);
  view.setUint32(offset + ATTRIBUTE_MODIFIER_AT, header.attributeModifier);
}

const BASE_VERSION_AT = 0;
const MGMT_CLASS_AT = 1;
const CLASS_VERSION_AT = 2;
const METHOD_AT = 3;
const STATUS_AT = 4;
const CLASS_SPECIFIC_AT = 6;
const TRANSACTION_ID_AT = 8;
const ATTRIBUTE_ID_AT = 16;
const RESERVED_AT = 18;
const ATTRIBUTE_MODIFIER_AT = 20;
