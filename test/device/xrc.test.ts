/**
 * Goal: an XRC connection between two devices serves several shared receive queues, and everything that belongs to it
 * is freed only when nothing uses it. Method: the connection manager joins an initiator and a target on a simulated
 * network.
 */
import { describe, expect, it } from 'vitest';
import { type Cq, type Pd, QpState, QpType, WcStatus, WrOpcode } from '../../src/index.ts';
import { ALL, makePair, PORT } from './support.ts';

/** Device a asks, device b has a domain with two shared receive queues, each of another protection domain. */
async function makeXrc() {
  const pair = makePair();
  const { world, a, b } = pair;
  const left = a.allocPd();
  const leftCq = a.createCq(64);
  const initiator = left.createQp({ type: QpType.XrcSend, sendCq: leftCq, recvCq: leftCq });
  const xrcd = b.openXrcd();
  const target = xrcd.createQp();
  const serve = (pd: Pd, cq: Cq) => {
    const srq = pd.createSrq({ maxWr: 8, xrcd, cq });
    const mr = pd.regMr(1024, { access: ALL });
    return { pd, cq, srq, mr };
  };
  const sides = [serve(b.allocPd(), b.createCq(4)), serve(b.allocPd(), b.createCq(4))] as const;
  const listener = b.cm.listen(PORT, { portSpace: 'ib' });
  const accepting = listener.next().then(({ value }) => value.accept({ qp: target }));
  const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, portSpace: 'ib', qp: initiator });
  await world.run(Promise.all([connecting, accepting]));
  listener.close();
  return { ...pair, left, leftCq, initiator, xrcd, target, sides };
}

describe('an XRC connection', () => {
  it('is made by the connection manager, and carries SENDs, WRITEs, READs and atomics to the queue that each names', async () => {
    const { world, left, leftCq, initiator, target, sides } = await makeXrc();
    expect([initiator.stateName, target.stateName, initiator.type, target.type]).toEqual(['RTS', 'RTS', 9, 10]);
    const own = left.regMr(64);
    for (const [i, { srq, mr }] of sides.entries()) {
      srq.postRecv({ wrId: 50 + i, sges: [{ mr, length: 64 }] });
      const xrcRemoteSrqn = srq.srqn;
      const remote = { xrcRemoteSrqn, remoteAddr: mr.iova + 512n, rkey: mr.rkey };
      initiator.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(7, i), xrcRemoteSrqn });
      initiator.postSend({ wrId: 2, opcode: WrOpcode.RdmaWrite, inline: new Uint8Array(8).fill(i + 1), ...remote });
      initiator.postSend({ wrId: 3, opcode: WrOpcode.RdmaRead, sges: [{ mr: own, length: 8 }], ...remote });
      const sges = [{ mr: own, offset: 8, length: 8 }];
      initiator.postSend({ wrId: 4, opcode: WrOpcode.AtomicFetchAndAdd, sges, compareAdd: 1n, fence: true, ...remote });
      for (const wrId of [1, 2, 3, 4]) {
        const { value } = await world.run(leftCq.next());
        expect([value.wrId, value.status]).toEqual([wrId, WcStatus.Success]);
      }
      expect(own.bytes.slice(0, 16)).toEqual(new Uint8Array(16).fill(i + 1));
      expect(mr.bytes[512]).toBe(i + 2);
    }
    for (const [i, { cq, mr }] of sides.entries()) {
      const { value } = await world.run(cq.next());
      expect([value.wrId, value.byteLen, value.qpn]).toEqual([50 + i, 2, target.qpn]);
      expect(mr.bytes.slice(0, 2)).toEqual(Uint8Array.of(7, i));
    }
  });

  it('ends with an access error for a key of another domain, and for a number that no queue has', async () => {
    const { world, leftCq, initiator, target, sides } = await makeXrc();
    const [one, two] = sides;
    const wr = { wrId: 1, opcode: WrOpcode.RdmaWrite, inline: Uint8Array.of(1), remoteAddr: two.mr.iova } as const;
    initiator.postSend({ ...wr, rkey: two.mr.rkey, xrcRemoteSrqn: one.srq.srqn });
    const { value } = await world.run(leftCq.next());
    expect(value.status).toBe(WcStatus.RemAccessErr);
    expect(two.mr.bytes[0]).toBe(0);
    const events = [];
    for await (const event of target.events) if (events.push(event) && event === 'qp-access-err') break;
    const again = await makeXrc();
    again.initiator.postSend({ wrId: 2, opcode: WrOpcode.Send, xrcRemoteSrqn: 0xabcdef });
    expect((await again.world.run(again.leftCq.next())).value.status).toBe(WcStatus.RemAccessErr);
  });

  it('whose queue completes into one that overruns loses that queue', async () => {
    const { world, leftCq, initiator, target, sides } = await makeXrc();
    const [{ srq, cq }, other] = sides;
    for (let wrId = 0; wrId < 6; wrId++) srq.postRecv({ wrId });
    for (let wrId = 0; wrId < 6; wrId++) initiator.postSend({ wrId, opcode: WrOpcode.Send, xrcRemoteSrqn: srq.srqn });
    for (let wrId = 0; wrId < 4; wrId++) expect((await world.run(leftCq.next())).value.status).toBe(WcStatus.Success);
    expect((await srq.events.next()).value).toBe('srq-err');
    expect((await cq.events.next()).value).toBe('cq-err');
    expect([cq.length, cq.overrun, target.state]).toEqual([4, true, QpState.Error]);
    expect(() => srq.postRecv({ wrId: 9 })).toThrow(/in error/);
    expect(() => other.srq.postRecv({ wrId: 9 })).not.toThrow();
  });
});

describe('an XRC domain', () => {
  it('is closed when no queue and no queue pair is left in it', async () => {
    const { b, xrcd, target, sides } = await makeXrc();
    expect(() => xrcd.close()).toThrow(/2 queues and 1 queue pairs/);
    expect(() => b.destroyCq(sides[0].cq)).toThrow(/still complete/);
    target.destroy();
    for (const { srq, cq, pd, mr } of sides) {
      expect(() => xrcd.close()).toThrow(/0 queue pairs/);
      srq.destroy();
      pd.deregMr(mr);
      b.destroyCq(cq);
      pd.dealloc();
    }
    xrcd.close();
    xrcd.close();
    expect(() => xrcd.createQp()).toThrow(/closed/);
    expect(() => b.allocPd().createSrq({ maxWr: 1, xrcd, cq: b.createCq(1) })).toThrow(/closed/);
  });

  it('and a completion queue make an XRC queue only together, and of one device', () => {
    const { a, b } = makePair();
    const xrcd = b.openXrcd();
    const pd = b.allocPd();
    expect(() => pd.createSrq({ maxWr: 1, xrcd })).toThrow(/needs an XRC domain and/);
    expect(() => pd.createSrq({ maxWr: 1, cq: b.createCq(1) })).toThrow(/needs an XRC domain and/);
    expect(() => pd.createSrq({ maxWr: 1, xrcd, cq: a.createCq(1) })).toThrow(/needs an XRC domain and/);
    expect(() => pd.createSrq({ maxWr: 1, xrcd: a.openXrcd(), cq: b.createCq(1) })).toThrow(/needs an XRC domain and/);
    xrcd.close();
  });

  it('keeps its queues from queue pairs of other types, and its queue pairs from doing work', () => {
    const { b } = makePair();
    const xrcd = b.openXrcd();
    const pd = b.allocPd();
    const cq = b.createCq(4);
    const srq = pd.createSrq({ maxWr: 1, xrcd, cq });
    expect(() => pd.createQp({ sendCq: cq, recvCq: cq, srq })).toThrow(/only XRC target/);
    expect(() => pd.createQp({ type: QpType.XrcRecv, sendCq: cq, recvCq: cq })).toThrow(/type 10/);
    const target = xrcd.createQp();
    expect(() => target.postRecv({ wrId: 1 })).toThrow(/shared receive queues/);
    expect(() => target.postSend({ wrId: 1, opcode: WrOpcode.Send, xrcRemoteSrqn: 1 })).toThrow();
  });
});
