/**
 * Goal: a connection of Linux's host may end on a wire that brings frames twice by exactly one thing. Each part of it
 * is needed: without that the NAK is another, which nothing excuses.
 */
import { expect, it } from 'vitest';
import { Syndrome } from '../../packets/aeth.ts';
import { Op } from '../../packets/opcode.ts';
import type { Packet } from '../transport/support/packets.ts';
import { buildFrame } from '../transport/support/wire.ts';
import { accessNaks } from './late-reads.ts';

const [GUESTS_QPN, OUR_QPN, KEY] = [0x22, 0x11, 0x23_f4];
/** Near the wrap: the answer ends behind it. */
const FIRST = 0xff_ff_fe;
const LENGTH = 3500;
const ETHERNET = Uint8Array.from({ length: 14 }, (_, i) => (i === 12 ? 8 : 0));

function framesOf(packets: readonly (readonly [number, Packet])[]) {
  return packets.map(([qpn, packet], i) => ({
    number: i + 1,
    bytes: Uint8Array.of(...ETHERNET, ...buildFrame(packet, FIRST, qpn)),
  }));
}

const nak = (psn: number, syndrome: number = Syndrome.NakRemoteAccess) =>
  [OUR_QPN, { opcode: Op.Acknowledge, psn, syndrome, msn: 1 }] as const;
const request = [
  GUESTS_QPN,
  { opcode: Op.ReadRequest, psn: 0, reth: { va: 0x1000n, rkey: KEY, length: LENGTH } },
] as const;
const end = [
  OUR_QPN,
  { opcode: Op.ReadResponseLast, psn: 3, syndrome: 0x1f, msn: 1, payload: new Uint8Array(428) },
] as const;
const middle = [OUR_QPN, { opcode: Op.ReadResponseMiddle, psn: 2, payload: new Uint8Array(1024) }] as const;
const invalidation = (inv = KEY, qpn = GUESTS_QPN) =>
  [qpn, { opcode: Op.SendOnlyInvalidate, psn: 4, inv, payload: new Uint8Array(16) }] as const;

it('finds a READ request that came again when its key was invalid, once for each', () => {
  const seen = framesOf([request, middle, end, invalidation(), nak(0), nak(0)]);
  expect(accessNaks(seen)).toEqual({ late: [5], other: [] });
});

it.each([
  ['that was not answered to its end', [request, middle, invalidation(), nak(0)]],
  ['whose end came after the NAK', [request, invalidation(), nak(0), end]],
  ['whose key is valid', [request, end, nak(0)]],
  ['whose key was invalidated after the NAK', [request, end, nak(0), invalidation()]],
  ['when another key was invalidated', [request, end, invalidation(KEY + 1), nak(0)]],
  ['when the key of another queue pair was invalidated', [request, end, invalidation(KEY, GUESTS_QPN + 1), nak(0)]],
  ['of another PSN', [request, end, invalidation(), nak(1)]],
  ['that nobody has sent', [end, invalidation(), nak(0)]],
] as const)('takes a NAK for another: of a READ %s', (_, packets) => {
  const { late, other } = accessNaks(framesOf(packets));
  expect([late.length, other.length]).toEqual([0, 1]);
});

it('looks at no other NAK', () => {
  const seen = framesOf([request, end, invalidation(), nak(0, Syndrome.NakSequence), nak(0, 0x1f)]);
  expect(accessNaks(seen)).toEqual({ late: [], other: [] });
});
