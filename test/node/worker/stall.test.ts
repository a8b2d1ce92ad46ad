/**
 * Goal: an application that stands still, while answers wait in its socket, loses no connection by that. Method: a
 * device in this thread without a single retry, its peer in a worker, and a loop that keeps this thread for longer than the ACK
 * timeout; what is posted next gets a turn before the loop has read.
 */
import { afterEach, expect, it } from 'vitest';
import { WcStatus, WrOpcode } from '../../../src/index.ts';
import { type Cable, freshPort, makeSide, OURS, openCable } from './support.ts';

let cable: Cable | undefined;
afterEach(() => cable?.close());

it('a stall of the application uses up no retry, with the ACK in the socket', async () => {
  cable = await openCable('worker');
  const [ours, theirs] = [makeSide(cable.ours.device), makeSide(cable.theirs.device)];
  const port = freshPort();
  const accepting = ours.device.cm
    .listen(port)
    .next()
    .then(({ value }) => value.accept({ qp: ours.qp }));
  // 0.54 s, and the first timeout is the end.
  await theirs.device.cm.connect({ address: OURS, port, qp: theirs.qp, ackTimeout: 17, retryCount: 0 });
  await accepting;
  const write = (wrId: number): void =>
    theirs.qp.postSend({
      wrId,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: theirs.mr, length: 8 }],
      remoteAddr: ours.mr.iova,
      rkey: ours.mr.rkey,
    });
  theirs.mr.bytes.fill(1);
  write(1);
  // The frame leaves, then this thread does nothing else until its effect is seen in the worker's memory.
  await new Promise((resolve) => setImmediate(resolve));
  const end = performance.now() + 600;
  while (ours.mr.bytes[0] === 0 || performance.now() < end);
  write(2);
  for (const wrId of [1, 2]) expect((await theirs.cq.next()).value).toMatchObject({ wrId, status: WcStatus.Success });
  expect(cable.theirs.device.portCounters.localAckTimeoutErr).toBe(0);
});
