/**
 * The attack that takes 2^24 packets (ref:hostile#SEC-04). Method: one parsed frame, its PSN counted up all the way
 * round.
 */
import { expect, it } from 'vitest';
import { PSN_MASK } from '../../packets/psn.ts';
import { writeOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { buildFrame, parseBytes } from './support/wire.ts';

it('SEC-04 ACK-09 2^24 valid packets in a row wrap PSN and MSN unnoticed, and the victim goes on', () => {
  const peer = new Peer();
  const nothing = writeOnly({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } });
  const { frame } = parseBytes(buildFrame(nothing, peer.firstPsn));
  for (let i = 0; i < 0x1_00_00_00; i++) {
    frame.psn = (peer.firstPsn + i) & PSN_MASK;
    peer.qp.handleFrame(peer.now, frame);
  }
  expect(peer.counters.duplicateRequest + peer.counters.droppedRequest).toBe(0);
  // The MSN has wrapped with the PSN: the next message is again number 1.
  peer.expectUsable(0, 1);
});
