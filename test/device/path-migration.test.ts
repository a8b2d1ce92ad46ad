/**
 * Goal: a connection between two devices with two addresses each changes ways, and its headers follow the neighbours of
 * the new one. Method: two devices on a simulated Ethernet; the first way is IPv4, the second IPv6; one side is told to
 * change.
 */
import { expect, it } from 'vitest';
import { IpAddress, QpState, WcStatus, WrOpcode } from '../../src/index.ts';
import { MigState } from '../../transport/qp-attributes.ts';
import { ALL, makePair, makeSide, type Side } from './support.ts';

const [V4, V6] = [
  ['10.0.0.1', '10.0.0.2'],
  ['fd00::1', 'fd00::2'],
].map((pair) => pair.map((text) => IpAddress.parse(text)));

it('both sides go the second way when one is told to, and nothing is lost', async () => {
  const { world, a, b } = makePair();
  const [left, right] = [makeSide(a), makeSide(b)];
  const up = async (side: Side, peer: Side, to: number): Promise<void> => {
    const destination = V4?.[to];
    const second = V6?.[to];
    if (destination === undefined || second === undefined) throw new Error('two addresses each');
    await side.qp.modify({ state: QpState.Init, access: ALL });
    await side.qp.modify({
      state: QpState.Rtr,
      av: { destination },
      altAv: { destination: second },
      destQpn: peer.qp.qpn,
      rqPsn: 0,
      mtu: 1024,
      maxDestRdAtomic: 1,
      minRnrTimer: 1,
    });
    await side.qp.modify({
      state: QpState.Rts,
      sqPsn: 0,
      timeout: 10,
      retryCnt: 3,
      rnrRetry: 3,
      maxRdAtomic: 1,
      pathMigState: MigState.Rearm,
    });
  };
  await world.run(Promise.all([up(left, right, 1), up(right, left, 0)]));
  const write = async (from: Side, to: Side): Promise<WcStatus> => {
    const remote = { remoteAddr: to.mr.iova, rkey: to.mr.rkey };
    from.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: from.mr, length: 3000 }], ...remote });
    return (await world.run(from.cq.next())).value.status;
  };
  const ways = (): string[] =>
    [left, right].map(({ qp }) => `${qp.core.config.path?.remote} ${qp.core.config.pathMigState}`);
  expect(await write(left, right)).toBe(WcStatus.Success);
  expect(ways()).toEqual([`10.0.0.2 ${MigState.Armed}`, `10.0.0.1 ${MigState.Armed}`]);
  await left.qp.modify({ pathMigState: MigState.Migrated });
  expect(await write(left, right)).toBe(WcStatus.Success);
  expect(ways()).toEqual([`fd00::2 ${MigState.Migrated}`, `fd00::1 ${MigState.Migrated}`]);
  expect([left, right].map(({ qp }) => `${qp.nextHop?.address}`)).toEqual(['fd00::2', 'fd00::1']);
  expect(await write(right, left)).toBe(WcStatus.Success);
  const events = [left, right].map(({ qp }) => qp.events.next());
  expect((await world.run(Promise.all(events))).map(({ value }) => value)).toEqual(['path-mig', 'path-mig']);
});
