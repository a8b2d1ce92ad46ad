/**
 * Goal: what a device suspects is told alike wherever its stack runs. Method: a peer that writes with a key that opens
 * nothing, to a device of each placement.
 */
import { expect, it } from 'vitest';
import { IpAddress, WrOpcode } from '../../../src/index.ts';
import { connectSides, openCable, PLACEMENTS, THEIRS } from './support.ts';

it.each(PLACEMENTS)('a key that opens nothing is an event of a device in the thread of the %s', async (placement) => {
  const cable = await openCable(placement);
  try {
    const { ours, theirs } = await connectSides(cable);
    const suspected = cable.ours.device.events.next();
    const remote = { remoteAddr: 0n, rkey: 0x12_34_56_78 };
    theirs.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: theirs.mr, length: 4 }], ...remote });
    const { value } = await suspected;
    const known = { kind: 'suspicious', cause: 'access-refused', count: 1, qpn: ours.qp.qpn };
    expect(value).toMatchObject({ ...known, port: expect.any(Number), at: expect.any(Number) });
    expect(typeof value === 'object' && value.address?.equals(IpAddress.parse(THEIRS))).toBe(true);
  } finally {
    await cable.close();
  }
});
