/**
 * Datagrams: the headers of one, and whether one that has come may be taken. Shared by UD queue pairs and queue pair 1,
 * which is one of them to the wire. Owns no state.
 * Rules: ref:wire#6 (DETH), ref:rxe#3, ref:conformance#UD-01, UD-06, UD-07; rxe:rxe_recv.c#check_keys. AckReq is not
 * set, as rxe does not since 6.2 (ref:rxe#6); it has no meaning here (ref:conformance#PKT-18).
 */
import { BTH_BYTES, writeBth } from '../packets/bth.ts';
import { DETH_BYTES, dethQkey, writeDeth } from '../packets/deth.ts';
import type { Frame } from '../packets/frame.ts';
import { IMM_DT_BYTES, writeImmDt } from '../packets/imm-dt.ts';
import { DETH_AT, Op, OpFlag, SERVICE_MASK, Service } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import { pkeysMatch } from './request-checks.ts';

/** Sender or receiver of datagrams. */
export interface DatagramEnd {
  readonly qpn: number;
  readonly pkey: number;
  readonly qkey: number;
  readonly migReq: 0 | 1;
}

/** Immediate data a datagram does not carry. */
export const NO_IMM = -1;

/**
 * Writes BTH, DETH and ImmDt of a datagram at `bth` and returns where its payload goes; the pad is the caller's to
 * write.
 */
export function writeDatagramHeaders(
  view: DataView,
  bth: number,
  from: DatagramEnd,
  destQpn: number,
  destQkey: number,
  psn: number,
  payloadLength: number,
  solicited: 0 | 1,
  immData: number,
): number {
  const opcode = immData === NO_IMM ? Op.UdSendOnly : Op.UdSendOnlyImm;
  writeBth(view, bth, opcode, solicited, from.migReq, -payloadLength & 3, from.pkey, destQpn, 0, psn & PSN_MASK);
  writeDeth(view, bth + BTH_BYTES, destQkey, from.qpn);
  const at = bth + BTH_BYTES + DETH_BYTES;
  if (immData === NO_IMM) return at;
  writeImmDt(view, at, immData);
  return at + IMM_DT_BYTES;
}

/** The verdict on a datagram, before a receive is taken. */
export const DatagramVerdict = { Accept: 0, BadService: 1, BadPkey: 2, BadQkey: 3 } as const;
export type DatagramVerdict = (typeof DatagramVerdict)[keyof typeof DatagramVerdict];

/**
 * Judges a packet that parsed well, in the order of rxe: service, P_Key, Q_Key. The PSN of a datagram means nothing.
 */
export function judgeDatagram(frame: Frame, to: DatagramEnd): DatagramVerdict {
  if ((frame.opcode & SERVICE_MASK) !== Service.Ud || (frame.flags & OpFlag.Send) === 0)
    return DatagramVerdict.BadService;
  if (!pkeysMatch(frame.pkey, to.pkey)) return DatagramVerdict.BadPkey;
  const deth = frame.bthOffset + (DETH_AT[frame.opcode] as number);
  return dethQkey(frame.view, deth) === to.qkey ? DatagramVerdict.Accept : DatagramVerdict.BadQkey;
}
