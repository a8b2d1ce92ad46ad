/**
 * Goal: what the connection manager's calls refuse leaves no trace: queue pair, request and wire are as they were.
 * Method: each mistake once, in the simulated world, then the same objects used rightly.
 */
import { describe, expect, it } from 'vitest';
import type { ConnectOptions } from '../../../src/device/cm/connection.ts';
import { QpState } from '../../../src/index.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { connect, makePair, makeSide, PORT } from '../support.ts';

describe('connect refuses before anything has changed', () => {
  const cases: readonly (readonly [string, Partial<ConnectOptions>, string])[] = [
    ['57 bytes of private data', { privateData: new Uint8Array(57) }, 'ERR_ROCE_ARGUMENT'],
    ['a port that is none', { port: 65_536 }, 'ERR_ROCE_ARGUMENT'],
    ['a port space that is none', { portSpace: 'udp' as 'tcp' }, 'ERR_ROCE_ARGUMENT'],
    ['more READs than a byte can say', { initiatorDepth: 256 }, 'ERR_ROCE_ARGUMENT'],
    ['an ACK timeout of 32', { ackTimeout: 32 }, 'ERR_ROCE_ARGUMENT'],
    ['an RNR timer of 32', { minRnrTimer: 32 }, 'ERR_ROCE_ARGUMENT'],
    ['eight RNR retries at most', { maxRnrRetry: 8 }, 'ERR_ROCE_ARGUMENT'],
    ['16 repetitions', { maxCmRetries: 16 }, 'ERR_ROCE_ARGUMENT'],
    ['an MTU that is none', { mtu: 1000 }, 'ERR_ROCE_ARGUMENT'],
    ['a hop limit of 0', { hopLimit: 0 }, 'ERR_ROCE_ARGUMENT'],
    ['a source that is not ours', { source: '10.0.0.77' }, 'ERR_ROCE_ADDRESS'],
    ['addresses of two versions', { source: 'fd00::1' }, 'ERR_ROCE_ADDRESS'],
  ];

  it.each(cases)('%s', async (_name, mistake, code) => {
    const { world, a, b } = makePair();
    const { qp } = makeSide(a);
    const right = makeSide(b);
    const good = { address: '10.0.0.2', port: PORT, qp, privateData: new Uint8Array(56) };
    await expect(a.cm.connect({ ...good, ...mistake })).rejects.toMatchObject({ code });
    expect([qp.state, a.cm.size, a.gsi.counters.sent]).toEqual([QpState.Reset, 0, 0]);
    const listener = b.cm.listen(PORT);
    void listener.next().then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(a.cm.connect(good));
    expect(qp.state).toBe(QpState.Rts);
  });

  it('a queue pair of another device, of datagrams, connected, destroyed or on its way already', async () => {
    const { world, a, b, left } = await connect();
    const { pd, cq, qp } = makeSide(a);
    const to = { address: '10.0.0.2', port: PORT };
    const datagrams = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
    for (const [wrong, code] of [
      [makeSide(b).qp, 'ERR_ROCE_ARGUMENT'],
      [datagrams, 'ERR_ROCE_ARGUMENT'],
      [left.qp, 'ERR_ROCE_STATE'],
    ] as const) {
      await expect(a.cm.connect({ ...to, qp: wrong })).rejects.toMatchObject({ code });
    }
    const first = a.cm.connect({ ...to, qp }).catch((error: unknown) => error);
    await expect(a.cm.connect({ ...to, qp })).rejects.toMatchObject({ code: 'ERR_ROCE_IN_USE' });
    expect(await world.run(first)).toMatchObject({ code: 'ERR_ROCE_REJECTED' });
    qp.destroy();
    await expect(a.cm.connect({ ...to, qp })).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    expect([datagrams.state, left.qp.state]).toEqual([QpState.Reset, QpState.Rts]);
  });

  it('a queue pair whose attempt has failed can be reset and try again', async () => {
    const { world, a, b } = makePair();
    const { qp } = makeSide(a);
    const right = makeSide(b);
    const to = { address: '10.0.0.2', port: PORT, qp };
    await world.run(a.cm.connect(to).catch((error: unknown) => error));
    expect(qp.state).toBe(QpState.Error);
    qp.modifyNow({ state: QpState.Reset });
    void b.cm
      .listen(PORT)
      .next()
      .then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(a.cm.connect(to));
    expect(qp.state).toBe(QpState.Rts);
  });
});

describe('accept refuses before anything has changed', () => {
  it('too much private data, values out of range and queue pairs that do not fit; then it accepts', async () => {
    const { world, a, b } = makePair();
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp });
    const { value: request } = await world.run(listener.next());
    const datagrams = right.pd.createQp({ type: QpType.Ud, sendCq: right.cq, recvCq: right.cq });
    for (const mistake of [
      { privateData: new Uint8Array(197) },
      { initiatorDepth: -1 },
      { rnrRetryCount: 8 },
      { minRnrTimer: 32 },
      { ackTimeout: 1.5 },
      { trafficClass: 256 },
      { qp: makeSide(a).qp },
      { qp: datagrams },
    ]) {
      const refused = request.accept({ qp: right.qp, ...mistake });
      await expect(refused).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    }
    expect([right.qp.state, datagrams.state]).toEqual([QpState.Reset, QpState.Reset]);
    const good = { qp: right.qp, privateData: new Uint8Array(196) };
    const twice = request.accept(good);
    await expect(request.accept(good)).rejects.toMatchObject({ code: 'ERR_ROCE_IN_USE' });
    await world.run(Promise.all([connecting, twice]));
    expect(right.qp.state).toBe(QpState.Rts);
  });
});

describe('the other calls', () => {
  it('reject leaves the request when its words are too long', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }).catch((error) => error);
    const { value: request } = await world.run(listener.next());
    expect(() => request.reject(new Uint8Array(149))).toThrow(/148 bytes, not 149/);
    expect(() => request.reject(undefined, 0)).toThrow(/reason must be/);
    request.reject(new Uint8Array(148));
    expect(await world.run(connecting)).toMatchObject({ code: 'ERR_ROCE_REJECTED' });
  });

  it('disconnect leaves the connection when its words are too long', async () => {
    const { world, left, active } = await connect();
    await expect(active.disconnect(new Uint8Array(221))).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    expect(left.qp.state).toBe(QpState.Rts);
    await expect(world.run(active.disconnect(new Uint8Array(220)))).resolves.toBe('drep');
  });

  it('listen knows its port spaces, and the same port once in each', () => {
    const { b } = makePair();
    expect(() => b.cm.listen(PORT, { portSpace: 'udp' as 'tcp' })).toThrow(/one of tcp, ib, not udp/);
    b.cm.listen(PORT);
    b.cm.listen(PORT, { portSpace: 'ib' });
    expect(() => b.cm.listen(PORT, { portSpace: 'ib' })).toThrow(/listened on already/);
    expect(() => b.cm.listen(1, 0)).toThrow(/backlog must be/);
    expect(() => b.cm.listen(1)).not.toThrow();
  });
});
