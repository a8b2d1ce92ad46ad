/**
 * Goal: the connection manager connects what the queue pair is. Method: unreliable connections between two devices in
 * the simulated world, with data both ways; queue pairs that do not fit what the peer asks for.
 */
import { describe, expect, it } from 'vitest';
import { type Device, QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { makePair, makeSide, PORT, type Side } from '../support.ts';

function makeUnreliableSide(device: Device): Side {
  const side = makeSide(device);
  return { ...side, qp: side.pd.createQp({ type: QpType.Uc, sendCq: side.cq, recvCq: side.cq }) };
}

describe('an unreliable connection', () => {
  it('is made by the same calls, and carries messages both ways', async () => {
    const { world, a, b } = makePair();
    const left = makeUnreliableSide(a);
    const right = makeUnreliableSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value: request }) => {
      expect([request.service, request.initiatorDepth, request.responderResources]).toEqual(['uc', 0, 0]);
      return request.accept({ qp: right.qp });
    });
    const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp });
    const [active, passive] = await world.run(Promise.all([connecting, accepting]));
    expect([left.qp.state, right.qp.state]).toEqual([QpState.Rts, QpState.Rts]);
    for (const [from, to] of [
      [left, right],
      [right, left],
    ] as const) {
      to.qp.postRecv({ wrId: 1, sges: [{ mr: to.mr }] });
      from.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3) });
      const { value: received } = await world.run(to.cq.next());
      expect([received.wrId, received.status, received.byteLen]).toEqual([1, WcStatus.Success, 3]);
      const { value: sent } = await world.run(from.cq.next());
      expect([sent.wrId, sent.status]).toEqual([2, WcStatus.Success]);
    }
    await expect(world.run(Promise.all([active.disconnect(), passive.closed]))).resolves.toEqual(['drep', 'dreq']);
    expect([left.qp.state, right.qp.state]).toEqual([QpState.Error, QpState.Error]);
  });

  it('is not accepted with a reliable queue pair, nor the other way round', async () => {
    for (const [make, other] of [
      [makeUnreliableSide, makeSide],
      [makeSide, makeUnreliableSide],
    ] as const) {
      const { world, a, b } = makePair();
      const listener = b.cm.listen(PORT);
      const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: make(a).qp });
      const { value: request } = await world.run(listener.next());
      const wrong = other(b).qp;
      await expect(request.accept({ qp: wrong })).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
      expect(wrong.state).toBe(QpState.Reset);
      const { qp } = make(b);
      await world.run(Promise.all([connecting, request.accept({ qp })]));
      expect(qp.state).toBe(QpState.Rts);
    }
  });
});
