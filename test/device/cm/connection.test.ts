/** Goal: connecting, refusing, ending. Method: two devices in the simulated world, real CM messages between them. */
import { describe, expect, it } from 'vitest';
import { CmAttribute } from '../../../packets/cm/index.ts';
import type { Frame } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { CmRejReason, ConnectionRejected, QpState, WcStatus, type World, WrOpcode } from '../../../src/index.ts';
import { connect, makePair, makeSide, PORT } from '../support.ts';

/** The wire loses all connection management messages of one kind. */
function loseEvery(world: World, attribute: number): void {
  const match = (frame: Frame): boolean =>
    frame.destQpn === GSI_QPN &&
    frame.payloadLength > 18 &&
    frame.view.getUint16(frame.payloadOffset + 16) === attribute;
  world.network.addRule({ match, action: 'drop' });
}

describe('a connection', () => {
  it('carries private data both ways and leaves both queue pairs in RTS', async () => {
    const { world, a, b } = makePair();
    const left = makeSide(a);
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(async ({ value: request }) => {
      expect(request.remoteAddress.toString()).toBe('10.0.0.1');
      expect([...request.privateData.subarray(0, 3)]).toEqual([1, 2, 3]);
      return request.accept({ qp: right.qp, privateData: Uint8Array.of(4, 5) });
    });
    const connecting = a.cm.connect({
      address: '10.0.0.2',
      port: PORT,
      qp: left.qp,
      privateData: Uint8Array.of(1, 2, 3),
    });
    const [active, passive] = await world.run(Promise.all([connecting, accepting]));
    expect([...active.privateData.subarray(0, 2)]).toEqual([4, 5]);
    expect([left.qp.state, right.qp.state]).toEqual([QpState.Rts, QpState.Rts]);
    expect(passive.remoteAddress.toString()).toBe('10.0.0.1');
  });

  it('runs over IPv6 as well', async () => {
    const { world, a, b } = makePair();
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
    const connecting = a.cm.connect({ address: 'fd00::2', port: PORT, qp: makeSide(a).qp });
    const [active] = await world.run(Promise.all([connecting, accepting]));
    expect(active.remoteAddress.toString()).toBe('fd00::2');
  });

  it('finds the way back to a peer it has never asked for', async () => {
    const { world, a, b } = makePair();
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value: request }) => {
      b.paths.forget(request.remoteAddress);
      return request.accept({ qp: right.qp });
    });
    const options = { address: 'fd00::2', source: 'fd00::1', port: PORT, qp: makeSide(a).qp };
    const [active] = await world.run(Promise.all([a.cm.connect(options), accepting]));
    expect(active.remoteAddress.toString()).toBe('fd00::2');
  });

  it('ends on both sides with DREQ and DREP, and what is outstanding is flushed', async () => {
    const { world, left, right, active, passive } = await connect();
    right.qp.postRecv({ wrId: 9, sges: [{ mr: right.mr }] });
    await expect(world.run(Promise.all([active.disconnect(), passive.closed]))).resolves.toEqual(['drep', 'dreq']);
    expect([left.qp.state, right.qp.state]).toEqual([QpState.Error, QpState.Error]);
    const { value } = await right.cq.next();
    expect([value.wrId, value.status]).toEqual([9, WcStatus.WrFlushErr]);
  });

  it('has ended once, however often and late it is asked to', async () => {
    const { world, active, passive } = await connect();
    await world.run(Promise.all([active.disconnect(), active.disconnect()]));
    world.runFor(100e9);
    await expect(Promise.all([active.disconnect(), passive.disconnect()])).resolves.toEqual(['drep', 'dreq']);
  });

  it('acknowledges what it has executed even when the application disconnects at once', async () => {
    const { world, left, right, passive } = await connect();
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1) });
    const leaving = right.cq.next().then(() => passive.disconnect());
    const [sent] = await world.run(Promise.all([left.cq.next(), leaving]));
    expect([sent.value.wrId, sent.value.status]).toEqual([2, WcStatus.Success]);
  });

  it('is refused by nobody listening with reason 8', async () => {
    const { world, a } = makePair();
    const failed = await world.run(
      a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }).catch((error) => error),
    );
    expect(failed).toBeInstanceOf(ConnectionRejected);
    expect(failed).toMatchObject({ code: 'ERR_ROCE_REJECTED', reason: CmRejReason.InvalidServiceId });
  });

  it('is refused by the application with its own reason and words', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    void listener.next().then(({ value }) => value.reject(Uint8Array.of(7, 7)));
    const failed = await world.run(
      a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }).catch((error) => error),
    );
    expect(failed).toMatchObject({ reason: CmRejReason.ConsumerDefined });
    expect([...failed.privateData.subarray(0, 2)]).toEqual([7, 7]);
  });

  it('is refused when its path MTU is more than the link of the other side carries', async () => {
    const { world, a, b } = makePair();
    b.cm.listen(PORT);
    Object.defineProperty(b, 'activeMtu', { value: 1024 });
    const failed = await world.run(
      a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }).catch((error) => error),
    );
    expect(failed).toMatchObject({ reason: CmRejReason.InvalidMtu });
  });

  it('asks for no path MTU that its own link does not carry', async () => {
    const { a } = makePair({ mtu: 1500 });
    const failed = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp, mtu: 4096 });
    await expect(failed).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('counts as established by the first data when RTU is lost (CM-09)', async () => {
    const { world, a, b } = makePair();
    loseEvery(world, CmAttribute.RTU);
    const left = makeSide(a);
    const right = makeSide(b);
    right.qp.modifyNow({ state: QpState.Init, access: 0 });
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp }));
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1) });
    expect((await world.run(accepting)).remoteAddress.toString()).toBe('10.0.0.1');
  });

  it('fails on the accepting side when the peer disconnects before it was ready', async () => {
    const { world, a, b } = makePair();
    loseEvery(world, CmAttribute.RTU);
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener
      .next()
      .then(({ value }) => value.accept({ qp: right.qp }).catch((error: unknown) => error));
    const active = await world.run(a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }));
    expect(await world.run(Promise.all([accepting, active.disconnect()]))).toMatchObject([
      { code: 'ERR_ROCE_CLOSED' },
      'drep',
    ]);
    expect(right.qp.state).toBe(QpState.Error);
  });

  it('refuses a client that cannot be reached', async () => {
    const { world, a, b } = makePair();
    const right = makeSide(b);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value: request }) => {
      b.paths.forget(request.remoteAddress);
      world.network.port('device 2')?.setFaults({ loss: 1 });
      return request.accept({ qp: right.qp }).catch((error: unknown) => error);
    });
    const options = { address: '10.0.0.2', port: PORT, qp: makeSide(a).qp, cmResponseTimeout: 14, maxCmRetries: 15 };
    const connecting = a.cm.connect(options).catch((error: unknown) => error);
    expect(await world.run(accepting)).toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    expect(await world.run(connecting)).toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
  });

  it('ends with the device, whatever it was doing', async () => {
    const { a, b, active } = await connect();
    const half = a.cm.connect({ address: '10.0.0.2', port: 1, qp: makeSide(a).qp });
    const lost = a.cm.connect({ address: '10.0.0.99', port: 1, qp: makeSide(a).qp });
    const listener = b.cm.listen(2);
    a.close();
    b.close();
    await expect(half).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    await expect(lost).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    expect(() => a.cm.listen(3)).toThrow(/closed/);
    await expect(active.closed).resolves.toBe('timeout');
    expect(await listener.next()).toMatchObject({ done: true });
  });

  it('fails with ERR_ROCE_ADDRESS when nobody has the address, and when no address of ours can reach it', async () => {
    const { world, a } = makePair();
    const missing = a.cm.connect({ address: '10.0.0.9', port: PORT, qp: makeSide(a).qp }).catch((error) => error);
    expect(await world.run(missing)).toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    expect(world.now).toBeLessThan(10e9);
  });

  it('fails with ERR_ROCE_TIMEOUT when the peer never answers', async () => {
    const { world, a, b } = makePair();
    await world.run(a.resolve(b.addresses[0]?.address ?? expect.fail('an address')));
    world.network.port('device 2')?.setFaults({ loss: 1 });
    const options = { address: '10.0.0.2', port: PORT, qp: makeSide(a).qp, cmResponseTimeout: 14, maxCmRetries: 3 };
    expect(await world.run(a.cm.connect(options).catch((error) => error))).toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
  });

  it('answers each request once', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }).catch((error) => error);
    const { value: request } = await world.run(listener.next());
    request.reject();
    expect(() => request.reject()).toThrow(/answered or withdrawn/);
    await expect(request.accept({ qp: makeSide(b).qp })).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
    await world.run(connecting);
  });

  it.each([-1, 65_536, 1.5])('knows that %s is no port', async (port) => {
    const { world, a, b } = makePair();
    expect(() => b.cm.listen(port)).toThrow(/whole number from 0 to 65535/);
    const connecting = a.cm.connect({ address: '10.0.0.2', port, qp: makeSide(a).qp }).catch((error: unknown) => error);
    expect(await world.run(connecting)).toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('listens once per port', () => {
    const { b } = makePair();
    const listener = b.cm.listen(PORT);
    expect(() => b.cm.listen(PORT)).toThrow(/listened on already/);
    listener.close();
    expect(() => b.cm.listen(PORT)).not.toThrow();
  });

  it('can be made and ended 1,000 times, one after the other, without a trace left behind', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const serve = async (): Promise<void> => {
      for await (const request of listener) {
        const side = makeSide(b, 16);
        const connection = await request.accept({ qp: side.qp });
        void connection.closed.then(() => side.qp.destroy());
      }
    };
    const serving = serve();
    const cycle = async (): Promise<void> => {
      const side = makeSide(a, 16);
      const connection = await a.cm.connect({ address: '10.0.0.2', port: PORT, qp: side.qp });
      await connection.disconnect();
      side.qp.destroy();
    };
    const cycles = async (): Promise<void> => {
      for (let i = 0; i < 1_000; i++) await cycle();
      listener.close();
      await serving;
    };
    await world.run(cycles());
    world.runFor(60e9);
    expect(world.now).toBeGreaterThan(60e9);
    expect([a.qpCount, b.qpCount]).toEqual([0, 0]);
    expect([a.cm.size, b.cm.size]).toEqual([0, 0]);
  });
});
