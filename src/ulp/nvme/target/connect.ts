/**
 * Admission: private data of a REQ, and the Connect command. Owns what is checked, in which order, and what a refusal
 * names. Rules: ref:nvmeof.
 */
import {
  CM_REQUEST,
  CmRejectStatus,
  CNTLID_DYNAMIC,
  CONNECT,
  CONNECT_DATA,
  CONNECT_REFUSAL,
  type ConnectData,
  ConnectOffset,
  DISCOVERY_NQN,
  NQN_MAX_BYTES,
  type NvmeCommand,
  NvmeStatus,
  RECFMT,
} from '../codec/index.ts';
import type { NvmeSubsystem } from './subsystem.ts';
import { type Outcome, refused } from './task.ts';

/** The queue that a REQ asks for. */
export interface AskedQueue {
  readonly qid: number;
  /** Entries of its submission queue. */
  readonly entries: number;
}

/** What the private data of a REQ asks for; or one of `CmRejectStatus`. */
export function askedQueue(privateData: Uint8Array, maxQueues: number, maxEntries: number): AskedQueue | number {
  const asked = CM_REQUEST.read(privateData);
  if (asked === undefined) return CmRejectStatus.InvalidLength;
  const { recfmt, qid, hrqsize, hsqsize } = asked;
  if (recfmt !== RECFMT) return CmRejectStatus.InvalidRecordFormat;
  if (qid > maxQueues) return CmRejectStatus.InvalidQueueId;
  if (hsqsize === 0 || hsqsize >= maxEntries) return CmRejectStatus.InvalidHostSqSize;
  if (hrqsize < hsqsize) return CmRejectStatus.InvalidHostRqSize;
  return { qid, entries: hsqsize + 1 };
}

/** A Connect whose values make sense. */
export interface AskedController {
  /** Undefined: the discovery service. */
  readonly subsystem: NvmeSubsystem | undefined;
  readonly hostNqn: string;
  readonly hostId: Uint8Array;
  /** 0xffff for a new one. */
  readonly cntlid: number;
  readonly kato: number;
  /** The host wants no head pointers. */
  readonly withoutFlowControl: boolean;
  /** Entries of its submission queue. */
  readonly submissionEntries: number;
}

/** What a Connect asks for; or the refusal. */
export function askedController(
  command: NvmeCommand,
  bytes: Uint8Array,
  { qid, entries }: AskedQueue,
  subsystems: readonly NvmeSubsystem[],
): AskedController | Outcome {
  const asked = command.arguments(CONNECT);
  const data = CONNECT_DATA.read(bytes);
  if (data === undefined) return refused(NvmeStatus.InvalidSglDataLength);
  if (asked.recfmt !== 0) return refused(NvmeStatus.ConnectIncompatibleFormat);
  if (asked.qid !== qid) return invalid(ConnectOffset.Qid, false);
  if (asked.sqsize === 0 || asked.sqsize >= entries) return invalid(ConnectOffset.Sqsize, false);
  const subsystem = subsystems.find(({ nqn }) => nqn === data.subnqn);
  if (subsystem === undefined && data.subnqn !== DISCOVERY_NQN) return invalid(ConnectOffset.Subnqn, true);
  if (!isName(data.hostnqn)) return invalid(ConnectOffset.Hostnqn, true);
  if (subsystem?.allows(data.hostnqn) === false)
    return refused(
      NvmeStatus.ConnectInvalidHost,
      CONNECT_REFUSAL.toNumber({ ipo: ConnectOffset.Hostnqn, inData: true }),
    );
  if ((qid === 0) !== (data.cntlid === CNTLID_DYNAMIC)) return invalid(ConnectOffset.Cntlid, true);
  return {
    subsystem,
    hostNqn: data.hostnqn,
    hostId: data.hostid,
    cntlid: data.cntlid,
    kato: asked.kato,
    withoutFlowControl: (asked.cattr & NO_FLOW_CONTROL) !== 0,
    submissionEntries: asked.sqsize + 1,
  };
}

/** Names the field of Connect that does not do. */
export function invalid(ipo: number, inData: boolean): Outcome {
  return refused(NvmeStatus.ConnectInvalidParameters, CONNECT_REFUSAL.toNumber({ ipo, inData }));
}

function isName(nqn: ConnectData['hostnqn']): boolean {
  return nqn.length > 0 && new TextEncoder().encode(nqn).length <= NQN_MAX_BYTES;
}

const NO_FLOW_CONTROL = 4;
