/**
 * A device that sends to its own address: no switch returns such frames, so it loops them back itself.
 * Method: the simulated world; both ends on one device, by the connection manager and by hand, and as datagrams.
 */
import { describe, expect, it } from 'vitest';
import { QpState, QpType, WcStatus, WrOpcode } from '../../src/index.ts';
import { makePair, makeSide, PORT } from './support.ts';

describe('a device and its own address', () => {
  it('connects to itself, writes, reads and sends', async () => {
    const { world, a } = makePair();
    const [left, right] = [makeSide(a), makeSide(a)];
    const listener = a.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(Promise.all([a.cm.connect({ address: '10.0.0.1', port: PORT, qp: left.qp }), accepting]));
    left.mr.bytes.fill(7);
    right.qp.postRecv({ wrId: 9, sges: [{ mr: right.mr, offset: 40_000, length: 100 }] });
    const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr, length: 30_000 }], ...remote });
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3) });
    const statuses = await world.run(Promise.all([left.cq.next(), left.cq.next(), right.cq.next()]));
    expect(statuses.map(({ value }) => value.status)).toEqual([0, 0, 0]);
    expect(right.mr.bytes.subarray(0, 30_000).every((byte) => byte === 7)).toBe(true);
    expect([...right.mr.bytes.subarray(40_000, 40_003)]).toEqual([1, 2, 3]);
  });

  it('sends datagrams to itself, and takes none from the wire that claim its address', async () => {
    const { world, a, b } = makePair();
    const pd = a.allocPd();
    const cq = a.createCq(8);
    const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
    const mr = pd.regMr(200);
    qp.modifyNow({ state: QpState.Init, qkey: 5 });
    qp.modifyNow({ state: QpState.Rtr });
    qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
    const [own] = a.addresses;
    if (own === undefined) throw new Error('the device has an address');
    const ah = await world.run(pd.createAh({ destination: own.address }));
    qp.postRecv({ wrId: 1, sges: [{ mr }] });
    qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(9), ah, remoteQpn: qp.qpn, remoteQkey: 5 });
    const got = await world.run(Promise.all([cq.next(), cq.next()]));
    expect(got.map(({ value }) => [value.wrId, value.status, value.byteLen]).sort()).toEqual([
      [1, WcStatus.Success, 41],
      [2, WcStatus.Success, 0],
    ]);
    expect(mr.bytes[40]).toBe(9);
    world.runFor(1e9);
    expect([a.counters.badSource, b.counters.receivedFrames - b.counters.otherHost]).toEqual([0, 0]);
  });
});
