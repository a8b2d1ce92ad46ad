/** Empty SENDs in a row: the shortest work there is, for scripts about loss and silence. */
import { WrOpcode } from '../../../transport/work.ts';
import { type Packet, sendOnly } from './packets.ts';
import { Peer, type PeerOptions } from './peer.ts';

/** A peer whose subject has `count` empty SENDs posted. */
export function withSends(count: number, options: PeerOptions = {}) {
  const peer = new Peer(options);
  for (let i = 0; i < count; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
  return peer;
}

/** The packets of SENDs number `from` to `to - 1`. */
export const sends = (from: number, to: number): Packet[] =>
  Array.from({ length: to - from }, (_, i) => sendOnly({ psn: from + i, ackReq: true }));

/** Their completions. */
export const done = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `send ${from + i} Success Send`);
