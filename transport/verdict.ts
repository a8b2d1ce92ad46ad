/**
 * What a responder decides about a request at the expected PSN, and what follows from each decision: one table.
 * ref:rxe#7 (responder), ref:conformance#KEY, OPS, LEN, RNR rows; class names as the comments of rxe:rxe_resp.c give
 * them.
 */
import { Syndrome } from '../packets/aeth.ts';
import { WcStatus } from './work.ts';

export const Verdict = {
  Accept: 0,
  /** No receive is posted: RNR NAK, nothing else changes. */
  NotReady: 1,
  BadSequence: 2,
  NotPermitted: 3,
  TooManyReads: 4,
  BadLength: 5,
  /** The receive buffer is too small for the message. */
  BufferTooSmall: 6,
  /** The remote key does not allow the access. */
  KeyRefused: 7,
  /** The posted receive names memory that is not ours any more. */
  BufferFault: 8,
  /** SEND with invalidate names a key that must not be invalidated: no NAK, the receive fails. */
  BadInvalidate: 9,
  Reserved: 10,
  /** XRC: the request names a shared receive queue that is not in the domain of the queue pair. */
  UnknownSrq: 11,
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

type VerdictName = keyof typeof Verdict;

interface Consequence {
  readonly name: VerdictName;
  /** Syndrome of the NAK, or -1 for none. */
  readonly syndrome: number;
  /** Status of the receive this request holds, if it holds one. */
  readonly status: WcStatus;
}

const { LocLenErr, LocProtErr, RemInvReqErr, RemAccessErr, WrFlushErr } = WcStatus;
const { NakInvalidRequest, NakRemoteAccess, NakRemoteOperational } = Syndrome;

/** Every verdict from BadSequence on moves the queue pair to ERROR. */
const CONSEQUENCES: readonly Consequence[] = [
  { name: 'Accept', syndrome: -1, status: WcStatus.Success },
  { name: 'NotReady', syndrome: Syndrome.RnrNak, status: WcStatus.Success },
  { name: 'BadSequence', syndrome: NakInvalidRequest, status: WrFlushErr },
  { name: 'NotPermitted', syndrome: NakInvalidRequest, status: WrFlushErr },
  { name: 'TooManyReads', syndrome: NakInvalidRequest, status: WrFlushErr },
  { name: 'BadLength', syndrome: NakInvalidRequest, status: LocLenErr },
  { name: 'BufferTooSmall', syndrome: NakInvalidRequest, status: LocLenErr },
  { name: 'KeyRefused', syndrome: NakRemoteAccess, status: RemAccessErr },
  { name: 'BufferFault', syndrome: NakRemoteOperational, status: LocProtErr },
  { name: 'BadInvalidate', syndrome: -1, status: RemInvReqErr },
  { name: 'Reserved', syndrome: NakInvalidRequest, status: WrFlushErr },
  { name: 'UnknownSrq', syndrome: NakRemoteAccess, status: RemAccessErr },
];

export function consequenceOf(verdict: Verdict): Consequence {
  return CONSEQUENCES[verdict] as Consequence;
}
