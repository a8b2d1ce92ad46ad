/**
 * A responder that acts by itself, for streams of many packets: it takes what comes in order, loses the packets it is
 * set to lose, and answers as any responder does: an ACK where one is asked for, one NAK 0x60 for a gap. Keeps the PSNs
 * it has seen, in the order of the wire.
 */
import { Syndrome } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import type { ScriptedResponder } from './responder.ts';

export interface Stream {
  /** All packets of the stream, in the order of their PSNs, the first at PSN 0. */
  readonly packets: readonly Packet[];
  /** PSNs that are lost the first time they come. */
  readonly lost: readonly number[];
  readonly withinNs: number;
}

export interface ReceivedRequest {
  /** PSNs as they came; -1 - n stands for our NAK of PSN n, sent at this place. */
  readonly order: readonly number[];
  /** The PSN that is expected next when nothing came any more, or all has. */
  readonly expected: number;
}

/**
 * Runs until all of the stream was taken, or nothing comes any more. `msnAt`: messages completed once that many packets
 * were taken.
 */
export async function takeStream(
  r: ScriptedResponder,
  stream: Stream,
  msnAt: (taken: number) => number,
): Promise<ReceivedRequest> {
  const { packets, withinNs } = stream;
  const lost = new Set(stream.lost);
  const order: number[] = [];
  let expected = 0;
  let nakked = false;
  while (expected < packets.length) {
    const received = await r.peer.take(withinNs);
    if (received === undefined) break;
    const { psn, ackReq } = received.packet;
    order.push(psn);
    if (lost.delete(psn)) continue;
    if (psn === expected) {
      expected++;
      nakked = false;
      if (ackReq === true || expected === packets.length) r.peer.ack(expected - 1, msnAt(expected));
    } else if (psn > expected && !nakked) {
      nakked = true;
      order.push(-1 - expected);
      r.peer.nak(Syndrome.NakSequence, expected, msnAt(expected));
    } else if (psn < expected && ackReq === true) r.peer.ack(expected - 1, msnAt(expected));
  }
  return { order, expected };
}
