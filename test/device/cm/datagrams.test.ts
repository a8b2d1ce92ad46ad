/**
 * Goal: a datagram service is offered and found by port, and what the finder learns reaches it. Method: two devices in
 * the simulated world; datagrams both ways; losses; every refusal changes nothing. ref:conformance#CM-24.
 */
import { describe, expect, it } from 'vitest';
import { CmAttribute, CmSidrStatus, RDMA_UDP_QKEY } from '../../../packets/cm/index.ts';
import type { Frame } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { ServiceRefused } from '../../../src/device/cm/datagram-service.ts';
import { type Device, QpState, type World, WrOpcode } from '../../../src/index.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { makePair, makeSide, PORT, type Side } from '../support.ts';

const GRH = 40;

function makeDatagramSide(device: Device): Side {
  const side = makeSide(device);
  const qp = side.pd.createQp({ type: QpType.Ud, sendCq: side.cq, recvCq: side.cq });
  return { ...side, qp };
}

/** The wire loses the first `count` connection management messages of one kind. */
function loseFirst(world: World, attribute: number, count: number): void {
  let left = count;
  const match = (frame: Frame): boolean =>
    frame.destQpn === GSI_QPN && frame.view.getUint16(frame.payloadOffset + 16) === attribute && left-- > 0;
  world.network.addRule({ match, action: 'drop' });
}

describe('a datagram service', () => {
  it('that stands tells the Q_Key its queue pair has by then, and none of a queue pair that takes nothing', async () => {
    const { world, a, b } = makePair();
    const { pd } = makeDatagramSide(a);
    const { qp } = makeDatagramSide(b);
    b.cm.listenUd(PORT, { qp, qkey: 5 });
    const find = () =>
      world.run(a.cm.resolveUd({ address: '10.0.0.2', port: PORT, pd }).catch((error: unknown) => error));
    expect(await find()).toMatchObject({ remoteQpn: qp.qpn, qkey: 5 });
    qp.modifyNow({ state: QpState.Rts, qkey: 6 });
    expect(await find()).toMatchObject({ remoteQpn: qp.qpn, qkey: 6 });
    qp.modifyNow({ state: QpState.Reset });
    expect(await find()).toMatchObject({ status: CmSidrStatus.NoQp });
  });

  it('is found by its port, and datagrams reach it and come back', async () => {
    const { world, a, b } = makePair();
    const left = makeDatagramSide(a);
    const right = makeDatagramSide(b);
    const listener = b.cm.listenUd(PORT);
    const serving = listener.next().then(({ value: request }) => {
      expect(`${request.remoteAddress} ${request.localAddress}`).toBe('10.0.0.1 10.0.0.2');
      expect([request.remotePort, ...request.privateData.subarray(0, 2)]).toEqual([4000, 7, 8]);
      right.qp.modifyNow({ state: QpState.Init, qkey: RDMA_UDP_QKEY });
      right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
      request.accept({ qp: right.qp, privateData: Uint8Array.of(9) });
    });
    const question = {
      address: '10.0.0.2',
      port: PORT,
      localPort: 4000,
      pd: left.pd,
      privateData: Uint8Array.of(7, 8),
    };
    const [found] = await world.run(Promise.all([a.cm.resolveUd(question), serving]));
    expect([found.remoteQpn, found.qkey, found.privateData[0]]).toEqual([right.qp.qpn, RDMA_UDP_QKEY, 9]);
    expect(right.qp.state).toBe(QpState.Rts);

    left.qp.modifyNow({ state: QpState.Init, qkey: found.qkey });
    left.qp.modifyNow({ state: QpState.Rtr });
    left.qp.modifyNow({ state: QpState.Rts, sqPsn: 5 });
    left.qp.postRecv({ wrId: 2, sges: [{ mr: left.mr }] });
    const to = { ah: found.ah, remoteQpn: found.remoteQpn, remoteQkey: found.qkey };
    left.qp.postSend({ wrId: 3, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3), ...to });
    const { value: received } = await world.run(right.cq.next());
    expect([received.byteLen, received.srcQpn]).toEqual([GRH + 3, left.qp.qpn]);
    const back = await world.run(right.pd.createAhFromWc(received, right.mr.bytes.subarray(0, GRH)));
    const reply = { ah: back, remoteQpn: received.srcQpn, remoteQkey: RDMA_UDP_QKEY };
    right.qp.postSend({ wrId: 4, opcode: WrOpcode.Send, inline: Uint8Array.of(4), ...reply });
    const completions = [await world.run(left.cq.next()), await world.run(left.cq.next())];
    expect(completions.map(({ value }) => value.wrId).sort()).toEqual([2, 3]);
    expect(left.mr.bytes[GRH]).toBe(4);
  });

  it('answers by itself with the queue pair it was given, once to each who asks, over IPv6 too', async () => {
    const { world, a, b } = makePair();
    const right = makeDatagramSide(b);
    b.cm.listenUd(PORT, { qp: right.qp, qkey: 0x77, privateData: Uint8Array.of(1) });
    expect(right.qp.state).toBe(QpState.Rts);
    const { pd } = makeDatagramSide(a);
    const both = ['10.0.0.2', 'fd00::2'].map((address) => a.cm.resolveUd({ address, port: PORT, pd }));
    for (const found of await world.run(Promise.all(both))) {
      expect([found.remoteQpn, found.qkey, found.privateData[0]]).toEqual([right.qp.qpn, 0x77, 1]);
    }
    right.qp.destroy();
    const late = a.cm.resolveUd({ address: '10.0.0.2', port: PORT, pd }).catch((error: unknown) => error);
    expect(await world.run(late)).toMatchObject({ status: CmSidrStatus.NoQp });
    world.runFor(60e9);
    expect([a.cm.size, b.cm.size]).toEqual([0, 0]);
  });

  it('is found although questions and answers are lost, and asked about once', async () => {
    const { world, a, b } = makePair();
    loseFirst(world, CmAttribute.SIDR_REQ, 2);
    loseFirst(world, CmAttribute.SIDR_REP, 1);
    const right = makeDatagramSide(b);
    const listener = b.cm.listenUd(PORT);
    let asked = 0;
    const serve = async (): Promise<void> => {
      for await (const request of listener) {
        asked++;
        request.accept({ qp: right.qp });
      }
    };
    void serve();
    const found = await world.run(a.cm.resolveUd({ address: '10.0.0.2', port: PORT, pd: makeSide(a).pd }));
    expect([found.remoteQpn, asked]).toEqual([right.qp.qpn, 1]);
  });

  it('is refused with status 1 where nobody offers it, and with the words of who does not want to', async () => {
    const { world, a, b } = makePair();
    const { pd } = makeSide(a);
    const nobody = a.cm.resolveUd({ address: '10.0.0.2', port: 1, pd }).catch((error: unknown) => error);
    expect(await world.run(nobody)).toMatchObject({ code: 'ERR_ROCE_REJECTED', status: CmSidrStatus.Unsupported });
    const listener = b.cm.listenUd(PORT, { portSpace: 'ipoib' });
    void listener.next().then(({ value }) => value.reject(CmSidrStatus.NoQp, Uint8Array.of(5)));
    const question = { address: '10.0.0.2', port: PORT, portSpace: 'ipoib', pd } as const;
    const refused = await world.run(a.cm.resolveUd(question).catch((error: unknown) => error));
    expect(refused).toBeInstanceOf(ServiceRefused);
    expect(refused).toMatchObject({ status: CmSidrStatus.NoQp, message: expect.stringContaining('NoQp') });
    expect((refused as ServiceRefused).privateData[0]).toBe(5);
  });

  it('is given up with ERR_ROCE_TIMEOUT when nobody answers, ERR_ROCE_ADDRESS when nobody is there', async () => {
    const { world, a, b } = makePair();
    const { pd } = makeSide(a);
    const missing = a.cm.resolveUd({ address: '10.0.0.9', port: PORT, pd }).catch((error: unknown) => error);
    expect(await world.run(missing)).toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    await world.run(a.resolve(b.addresses[0]?.address ?? expect.fail('an address')));
    world.network.port('device 2')?.setFaults({ loss: 1 });
    const options = { address: '10.0.0.2', port: PORT, pd, cmResponseTimeout: 14, maxCmRetries: 2 };
    expect(await world.run(a.cm.resolveUd(options).catch((error: unknown) => error))).toMatchObject({
      code: 'ERR_ROCE_TIMEOUT',
    });
    expect(a.cm.size).toBe(0);
  });

  it('ends with the device: who looks for it and who offers it are told', async () => {
    const { a, b } = makePair();
    const looking = a.cm.resolveUd({ address: '10.0.0.2', port: PORT, pd: makeSide(a).pd });
    const listener = b.cm.listenUd(PORT);
    const next = listener.next();
    a.close();
    b.close();
    await expect(looking).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    expect(await next).toMatchObject({ done: true });
    expect(() => b.cm.listenUd(PORT)).toThrow(/closed/);
  });
});

describe('what is refused', () => {
  it('of an offer changes nothing', () => {
    const { b } = makePair();
    const rc = makeSide(b);
    const ud = makeDatagramSide(b);
    expect(() => b.cm.listenUd(PORT, { qp: rc.qp })).toThrow(/type UD/);
    expect(() => b.cm.listenUd(PORT, { qp: ud.qp, qkey: 0x8000_0000 })).toThrow(/belongs to management/);
    expect(() => b.cm.listenUd(PORT, { qp: ud.qp, privateData: new Uint8Array(137) })).toThrow(/136 bytes/);
    const listener = b.cm.listenUd(PORT);
    expect(() => b.cm.listenUd(PORT, { qp: ud.qp })).toThrow(/offered already/);
    expect([rc.qp.state, ud.qp.state]).toEqual([QpState.Reset, QpState.Reset]);
    listener.close();
    expect(() => b.cm.listenUd(PORT, { qp: ud.qp })).not.toThrow();
  });

  it('of an answer leaves the request for a better one, which counts once', async () => {
    const { world, a, b } = makePair();
    const ud = makeDatagramSide(b);
    const listener = b.cm.listenUd(PORT);
    const looking = a.cm.resolveUd({ address: '10.0.0.2', port: PORT, pd: makeSide(a).pd });
    const { value: request } = await world.run(listener.next());
    expect(() => request.accept({ qp: makeSide(b).qp })).toThrow(/type UD/);
    expect(() => request.accept({ qp: makeDatagramSide(a).qp })).toThrow(/own device/);
    expect(() => request.accept({ qp: ud.qp, privateData: new Uint8Array(137) })).toThrow(/136 bytes/);
    expect(() => request.reject(CmSidrStatus.Success)).toThrow(/status must be/);
    expect(ud.qp.state).toBe(QpState.Reset);
    ud.qp.modifyNow({ state: QpState.Init, qkey: 3 });
    expect(() => request.accept({ qp: ud.qp, qkey: 4 })).toThrow(/another Q_Key/);
    request.accept({ qp: ud.qp });
    expect(() => request.reject()).toThrow(/answered or withdrawn/);
    expect((await world.run(looking)).qkey).toBe(3);
  });

  it('of a question sends nothing', async () => {
    const { world, a, b } = makePair();
    const { pd } = makeSide(a);
    const question = { address: '10.0.0.2', port: PORT, pd };
    const bad = [
      { ...question, port: 65_536 },
      { ...question, privateData: new Uint8Array(181) },
      { ...question, maxCmRetries: 16 },
      { ...question, hopLimit: 0 },
      { ...question, portSpace: 'tpc' as 'udp' },
      { ...question, pd: makeSide(b).pd },
    ];
    for (const each of bad) await expect(a.cm.resolveUd(each)).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    const foreign = a.cm.resolveUd({ ...question, source: '10.0.0.77' });
    await expect(foreign).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    world.runFor(1e9);
    expect([a.cm.size, a.gsi.counters.sent]).toEqual([0, 0]);
  });
});
