/**
 * Goal: who destroys a queue pair in the moment it sees a completion does not take back the acknowledge of that message.
 * Method: two devices in the simulated world; the receiver destroys its queue pair as soon as it has what it waited for.
 */
import { expect, it } from 'vitest';
import { WcStatus, WrOpcode } from '../../src/index.ts';
import { connect } from './support.ts';

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
