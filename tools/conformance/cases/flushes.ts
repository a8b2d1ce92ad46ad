/**
 * FLUSHes of a script. rdma_rxe judges a FLUSH only with an ICRC of its own (packets/rxe-flush-icrc.ts) and drops a
 * right one in silence: so that its other rules can be looked at all the same, a case finds out once which form the
 * device takes, and says so when it is the wrong one.
 */
import { computeIcrc, FETH_AT, OPCODE_HEADER_BYTES, Op, rxeFlushIcrc } from 'rocev2/packets';
import { type Draft, describePacket, flush, type Packet, writeOnly } from 'rocev2/packets/kit';
import type { AccessFlag } from '../host-control/host-control.ts';
import { ALL_ACCESS, type TesterConnectOptions } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { matches } from '../tester/want.ts';
import { target } from './answers.ts';

/** Rights that a FLUSH for global visibility needs, of queue pair and region, and all others. */
export const FLUSH_ACCESS: readonly AccessFlag[] = [...ALL_ACCESS, 'flush-global'];

/** What a FLUSH must look like for the device to see it at all. */
export type FlushForm = (packet: Packet) => Packet;

/** A connection whose queue pair and region may be flushed. */
export const connectFlushable = (t: Tester, options: TesterConnectOptions = {}): Promise<TesterPeer> =>
  t.connect({ access: FLUSH_ACCESS, regionAccess: FLUSH_ACCESS, ...options });

/** FETH and RETH of a FLUSH of `length` bytes at `offset`: global visibility, a range. */
export const flushAt = (peer: TesterPeer, psn: number, offset: number, length: number): Packet =>
  flush({ psn, reth: target(peer, offset, length) });

export const answered = (psn: number) => ({ opcode: Op.ReadResponseOnly, psn });

/**
 * Tries a FLUSH as it has to be, and where that is dropped in silence the one of rdma_rxe, which is noted: MPE-02 is
 * the rule that is broken then.
 */
export async function flushForm(t: Tester): Promise<FlushForm> {
  const peer = await connectFlushable(t);
  if (await isTaken(peer, asItIs)) return asItIs;
  if (!(await isTaken(peer, asRxeHasIt))) throw new Inconclusive('no FLUSH is answered, whatever its ICRC');
  t.note('a FLUSH with the right ICRC is dropped in silence; it was sent with that of rdma_rxe');
  return asRxeHasIt;
}

const asItIs: FlushForm = (packet) => packet;

/** With the ICRC that rdma_rxe demands of a FLUSH. */
const asRxeHasIt: FlushForm = (packet) => ({
  ...packet,
  note: 'ICRC as rdma_rxe has it',
  spoil: ({ bytes, view, ip, udp, bth, icrc }: Draft) => {
    const version = udp - ip === 20 ? 4 : 6;
    // The first time its headers only, the second time all that there is.
    const headers = bth + 12 + (OPCODE_HEADER_BYTES[Op.Flush] ?? 0);
    view.setUint32(icrc, rxeFlushIcrc(computeIcrc(bytes, view, ip, version, bth, headers), bytes, bth, icrc), true);
    return undefined;
  },
});

/** Whether a FLUSH at PSN 0 is answered; else a WRITE of no bytes at the same PSN has to be the next new request. */
async function isTaken(peer: TesterPeer, form: FlushForm): Promise<boolean> {
  const psn = form === asItIs ? 0 : 1;
  peer.tx(form(flushAt(peer, psn, 0, 64)), writeOnly({ psn, ackReq: true, reth: target(peer, 0, 0) }));
  const received = await peer.take();
  demand(received !== undefined, 'a FLUSH, and a WRITE behind it, are not answered');
  const { packet } = received;
  if (matches(packet, answered(psn))) return true;
  demand(
    matches(packet, { opcode: Op.Acknowledge, psn, syndrome: 0x1f }),
    () => `a FLUSH, and a WRITE behind it, are answered with ${describePacket(packet)}`,
  );
  return false;
}

/** Writes FETH bits that no field of ours has: `mask` is or-ed to the header. */
export const withFethBits = (packet: Packet, mask: number): Packet => ({
  ...packet,
  note: `FETH bits 0x${mask.toString(16)}`,
  edit: ({ view, bth }: Draft) => {
    const feth = bth + (FETH_AT[Op.Flush] ?? 0);
    view.setUint32(feth, (view.getUint32(feth) | mask) >>> 0);
    return undefined;
  },
});
