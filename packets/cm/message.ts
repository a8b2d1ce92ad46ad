/**
 * Connection management messages: one MAD in, one record out, and back.
 *
 * `parseCmMad` makes every check of the envelope once: size, base version, class, class version, method and attribute.
 * What it lets through the readers of this folder can read without looking outside the 256 bytes.
 *
 * Owns: the attribute ids and the envelope checks. Never: what a message means (transport/cm).
 * Sources: ref:wire#10, ref:conformance#CM (CM-22 class version, CM-25 size).
 */
import { invariant } from '../errors.ts';
import {
  MAD_BASE_VERSION,
  MAD_BYTES,
  type MadHeader,
  MadMethod,
  ManagementClass,
  readMadHeader,
  writeMadHeader,
} from '../mad.ts';
import { type CmDrep, readCmDrep, writeCmDrep } from './drep.ts';
import { type CmDreq, readCmDreq, writeCmDreq } from './dreq.ts';
import { type CmApr, type CmLap, readCmApr, readCmLap, writeCmApr, writeCmLap } from './lap.ts';
import { type CmMra, readCmMra, writeCmMra } from './mra.ts';
import { type CmRej, readCmRej, writeCmRej } from './rej.ts';
import { type CmRep, readCmRep, writeCmRep } from './rep.ts';
import { type CmReq, readCmReq, writeCmReq } from './req.ts';
import { type CmRtu, readCmRtu, writeCmRtu } from './rtu.ts';
import {
  type CmSidrRep,
  type CmSidrReq,
  readCmSidrRep,
  readCmSidrReq,
  writeCmSidrRep,
  writeCmSidrReq,
} from './sidr.ts';

/** Class version of connection management. */
export const CM_CLASS_VERSION = 2;

/** A message of connection management, told apart by `kind`. */
export type CmMessage =
  | { readonly kind: 'REQ'; readonly body: CmReq }
  | { readonly kind: 'MRA'; readonly body: CmMra }
  | { readonly kind: 'REJ'; readonly body: CmRej }
  | { readonly kind: 'REP'; readonly body: CmRep }
  | { readonly kind: 'RTU'; readonly body: CmRtu }
  | { readonly kind: 'DREQ'; readonly body: CmDreq }
  | { readonly kind: 'DREP'; readonly body: CmDrep }
  | { readonly kind: 'SIDR_REQ'; readonly body: CmSidrReq }
  | { readonly kind: 'SIDR_REP'; readonly body: CmSidrRep }
  | { readonly kind: 'LAP'; readonly body: CmLap }
  | { readonly kind: 'APR'; readonly body: CmApr };

/** Name of a message, as `CmMessage.kind` has it. */
export type CmKind = CmMessage['kind'];

/** Attribute id of every message. */
export const CmAttribute: Readonly<Record<CmKind, number>> = {
  REQ: 0x10,
  MRA: 0x11,
  REJ: 0x12,
  REP: 0x13,
  RTU: 0x14,
  DREQ: 0x15,
  DREP: 0x16,
  SIDR_REQ: 0x17,
  SIDR_REP: 0x18,
  LAP: 0x19,
  APR: 0x1a,
};

/** The message an attribute id stands for. */
export function cmKind(attributeId: number): CmKind | undefined {
  return KIND_OF_ATTRIBUTE.get(attributeId);
}

/** Why a MAD is not a message of connection management. */
export const CmParseStatus = {
  /** It is one. */
  Ok: 0,
  /** Not 256 bytes. */
  BadLength: 1,
  /** Base version other than 1. */
  BadBaseVersion: 2,
  /** Another management class. */
  NotCm: 3,
  /** Class version other than 2. */
  BadClassVersion: 4,
  /** A method other than Send. */
  BadMethod: 5,
  /** No message has this attribute id. */
  UnknownAttribute: 6,
} as const;
/** One of the reasons. */
export type CmParseStatus = (typeof CmParseStatus)[keyof typeof CmParseStatus];

/** A parsed MAD. */
export interface CmMad {
  /** The common header, of which the transaction id matters. */
  readonly header: MadHeader;
  /** What follows it. */
  readonly message: CmMessage;
}

/**
 * Parses the MAD of `length` bytes at `offset`. Gives the reason instead when it is not one; never throws for any
 * bytes.
 */
export function parseCmMad(view: DataView, offset: number, length: number): CmMad | Exclude<CmParseStatus, 0> {
  if (length !== MAD_BYTES) return CmParseStatus.BadLength;
  const header = readMadHeader(view, offset);
  if (header.baseVersion !== MAD_BASE_VERSION) return CmParseStatus.BadBaseVersion;
  if (header.mgmtClass !== ManagementClass.Cm) return CmParseStatus.NotCm;
  if (header.classVersion !== CM_CLASS_VERSION) return CmParseStatus.BadClassVersion;
  if (header.method !== MadMethod.Send) return CmParseStatus.BadMethod;
  const kind = cmKind(header.attributeId);
  if (kind === undefined) return CmParseStatus.UnknownAttribute;
  return { header, message: readCmMessage(view, offset, kind) };
}

/** Reads the message of a MAD known to be of this kind. */
export function readCmMessage(view: DataView, offset: number, kind: CmKind): CmMessage {
  switch (kind) {
    case 'REQ':
      return { kind, body: readCmReq(view, offset) };
    case 'MRA':
      return { kind, body: readCmMra(view, offset) };
    case 'REJ':
      return { kind, body: readCmRej(view, offset) };
    case 'REP':
      return { kind, body: readCmRep(view, offset) };
    case 'RTU':
      return { kind, body: readCmRtu(view, offset) };
    case 'DREQ':
      return { kind, body: readCmDreq(view, offset) };
    case 'DREP':
      return { kind, body: readCmDrep(view, offset) };
    case 'SIDR_REQ':
      return { kind, body: readCmSidrReq(view, offset) };
    case 'SIDR_REP':
      return { kind, body: readCmSidrRep(view, offset) };
    case 'LAP':
      return { kind, body: readCmLap(view, offset) };
    case 'APR':
      return { kind, body: readCmApr(view, offset) };
  }
}

/**
 * Writes a whole MAD: 256 bytes, header included.
 * `attributeModifier` is 0 but where enhanced connection establishment uses it. Throws when private data is too long.
 */
export function writeCmMad(
  view: DataView,
  offset: number,
  transactionId: bigint,
  message: CmMessage,
  attributeModifier = 0,
): void {
  invariant(offset + MAD_BYTES <= view.byteLength, 'a MAD is written where 256 bytes are');
  writeMadHeader(view, offset, {
    baseVersion: MAD_BASE_VERSION,
    mgmtClass: ManagementClass.Cm,
    classVersion: CM_CLASS_VERSION,
    method: MadMethod.Send,
    status: 0,
    classSpecific: 0,
    transactionId,
    attributeId: CmAttribute[message.kind],
    attributeModifier,
  });
  writeCmMessage(view, offset, message);
}

/** Writes the 232 bytes behind the MAD header. */
export function writeCmMessage(view: DataView, offset: number, message: CmMessage): void {
  switch (message.kind) {
    case 'REQ':
      writeCmReq(view, offset, message.body);
      break;
    case 'MRA':
      writeCmMra(view, offset, message.body);
      break;
    case 'REJ':
      writeCmRej(view, offset, message.body);
      break;
    case 'REP':
      writeCmRep(view, offset, message.body);
      break;
    case 'RTU':
      writeCmRtu(view, offset, message.body);
      break;
    case 'DREQ':
      writeCmDreq(view, offset, message.body);
      break;
    case 'DREP':
      writeCmDrep(view, offset, message.body);
      break;
    case 'SIDR_REQ':
      writeCmSidrReq(view, offset, message.body);
      break;
    case 'SIDR_REP':
      writeCmSidrRep(view, offset, message.body);
      break;
    case 'LAP':
      writeCmLap(view, offset, message.body);
      break;
    case 'APR':
      writeCmApr(view, offset, message.body);
      break;
  }
}

const KIND_OF_ATTRIBUTE: ReadonlyMap<number, CmKind> = new Map([
  [CmAttribute.REQ, 'REQ'],
  [CmAttribute.MRA, 'MRA'],
  [CmAttribute.REJ, 'REJ'],
  [CmAttribute.REP, 'REP'],
  [CmAttribute.RTU, 'RTU'],
  [CmAttribute.DREQ, 'DREQ'],
  [CmAttribute.DREP, 'DREP'],
  [CmAttribute.SIDR_REQ, 'SIDR_REQ'],
  [CmAttribute.SIDR_REP, 'SIDR_REP'],
  [CmAttribute.LAP, 'LAP'],
  [CmAttribute.APR, 'APR'],
]);
