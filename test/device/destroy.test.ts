/**
 * Goal: who destroys a queue pair in the moment it sees a completion does not take back the acknowledge of that
 * message. Method: two devices in the simulated world; the receiver destroys its queue pair as soon as it has what it
 * waited for.
 */
import { expect, it } from 'vitest';
import { ConnectionRejected, WcStatus, WrOpcode } from '../../src/index.ts';
import { connect, makePair, makeSide, PORT } from './support.ts';

it('a message that was seen is acknowledged, though its queue pair is gone', async () => {
  const { world, b, left, right } = await connect();
  right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
  const received = async () => {
    const { value } = await right.cq.next();
    right.qp.destroy();
    return value?.status;
  };
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 100 }] });
  const [status, sent] = await world.run(Promise.all([received(), left.cq.next()]));
  expect(status).toBe(WcStatus.Success);
  expect(sent.value?.status).toBe(WcStatus.Success);
  expect(b.qpCount).toBe(0);
});

it('what was posted and has not left vanishes', async () => {
  const { world, a, left } = await connect();
  const before = a.portCounters.sentPkts;
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 100 }] });
  left.qp.destroy();
  await world.run(world.sleep(1e9));
  expect(a.portCounters.sentPkts).toBe(before);
  expect(left.cq.length).toBe(0);
});

it('an attempt to connect ends with its queue pair, and the peer is told', async () => {
  const { world, a, b } = makePair();
  const { qp } = makeSide(a);
  const listener = b.cm.listen(PORT);
  const attempt = a.cm.connect({ address: '10.0.0.2', port: PORT, qp });
  const { value: request } = await world.run(listener.next());
  qp.destroy();
  await expect(attempt).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
  expect(a.cm.size).toBe(0);
  await world.run(world.sleep(1e6));
  expect(b.cm.size).toBe(0);
  await expect(request.accept({ qp: makeSide(b).qp })).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
});

it('who accepts and destroys the queue pair before the peer is ready takes the answer back', async () => {
  const { world, a, b } = makePair();
  const { qp } = makeSide(b);
  const listener = b.cm.listen(PORT);
  const attempt = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp });
  const { value: request } = await world.run(listener.next());
  const accepting = request.accept({ qp });
  // Far enough for the queue pair to be ready, and for no frame to have arrived.
  for (let turn = 0; turn < 10; turn++) await null;
  expect(qp.stateName).toBe('RTS');
  qp.destroy();
  await expect(accepting).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
  await expect(world.run(attempt)).rejects.toBeInstanceOf(ConnectionRejected);
});
