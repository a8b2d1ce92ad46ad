/** READs of a script: lengths that matter, and a READ whose answer has to come whole. Owns no rule. */
import { readRequest, readResponses } from 'rocev2/packets/kit';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import { target } from './answers.ts';

/** 0 to 5 path MTUs and what lies beside each; the pads 0 to 3. */
export function readLengths(mtu: number): readonly number[] {
  const around = [0, 1, 2, 3, 4, 5].flatMap((k) => [k * mtu - 1, k * mtu, k * mtu + 1, k * mtu + 6]);
  return [...around, 2, 3, 4].filter((length) => length >= 0 && length <= 5 * mtu);
}

export interface ReadOptions {
  readonly psn: number;
  /** In the region. */
  readonly offset: number;
  readonly length: number;
  readonly ackReq?: boolean;
}

/** A READ of the region; its answer has to come whole, with what is in memory now, and with nothing between. */
export async function readAt(
  peer: TesterPeer,
  { psn, offset, length, ackReq = false }: ReadOptions,
): Promise<ReceivedPacket[]> {
  const data = await peer.memory(offset, length);
  peer.tx(readRequest({ psn, ackReq, reth: target(peer, offset, length) }));
  return rxResponses(peer, psn, data);
}

/** The answer to a READ of `data` at `psn`: PSNs, opcodes and bytes; what the AETH says is left open. */
export function rxResponses(peer: TesterPeer, psn: number, data: Uint8Array): Promise<ReceivedPacket[]> {
  const responses = readResponses({ psn, msn: 0, data, mtu: peer.mtu });
  return peer.rxAll(responses.map(({ opcode, psn, payload = data }) => ({ opcode, psn, payload })));
}
