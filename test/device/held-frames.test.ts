/**
 * A request that waits in a full link is not retransmitted for want of an answer.
 * Method: a connected pair in the simulated world; the test takes the request out of the device and keeps it, as the
 * driver of a full link does.
 */
import { expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { WcStatus, WrOpcode } from '../../src/index.ts';
import { connect } from './support.ts';

it('the timer of a request starts when it leaves', async () => {
  const { world, a, left, right } = await connect();
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, inline: Uint8Array.of(1), ...remote });
  const writer = new FrameWriter(16, 2000);
  const sinceNs = a.now();
  a.transmit(writer);
  expect(writer.count).toBe(1);
  a.held(sinceNs, sinceNs + HELD_NS);
  world.runFor(HELD_NS);
  expect(a.portCounters.localAckTimeoutErr).toBe(0);
  const { value } = await world.run(left.cq.next());
  expect([value.status, a.portCounters.localAckTimeoutErr]).toEqual([WcStatus.Success, 1]);
  expect(right.mr.bytes[0]).toBe(1);
});

/** Longer than any ACK timeout of the connection. */
const HELD_NS = 60e9;
