/**
 * Goal: every refusal the connection manager makes by itself names its reason to the caller. Method: two devices in the
 * simulated world, one mistake each; for a stale connection, a host that comes back with its old queue pair number.
 *
 * The other reasons are the application's to give (`reject`), or say what RoCE does not have: LIDs, service levels,
 * end-to-end contexts, redirection. Those of a single message are in test/transport/cm.
 */
import { describe, expect, it } from 'vitest';
import { IpPrefix, parseMac } from '../../../packets/address.ts';
import { CmRejReason } from '../../../packets/cm/index.ts';
import type { ListenOptions } from '../../../src/device/cm/api.ts';
import type { ConnectOptions } from '../../../src/device/cm/connection.ts';
import { ConnectionRejected, Device, type Qp, QpState, type World } from '../../../src/index.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { makePair, makeSide, PORT } from '../support.ts';

async function refusal(listen: ListenOptions, ask: Partial<ConnectOptions>, type: QpType = QpType.Rc) {
  const { world, a, b } = makePair();
  b.cm.listen(PORT, listen);
  const { pd, cq } = makeSide(a);
  const qp = pd.createQp({ type, sendCq: cq, recvCq: cq });
  const options = { address: '10.0.0.2', port: PORT, qp, ...ask };
  const error = await world.run(a.cm.connect(options).catch((refused: unknown) => refused));
  expect(error).toBeInstanceOf(ConnectionRejected);
  expect(qp.state).toBe(QpState.Error);
  return (error as ConnectionRejected).reason;
}

describe('a caller learns', () => {
  it('that nobody listens there, or not in that port space (8)', async () => {
    expect(await refusal({}, { port: 9 })).toBe(CmRejReason.InvalidServiceId);
    expect(await refusal({ portSpace: 'ib' }, {})).toBe(CmRejReason.InvalidServiceId);
  });

  it('that the listener does not want this service (9)', async () => {
    expect(await refusal({ services: ['rc'] }, {}, QpType.Uc)).toBe(CmRejReason.InvalidTransportType);
  });

  it('that the listener is busy, where that is to be told (3)', async () => {
    const { world, a, b } = makePair();
    b.cm.listen(PORT, { backlog: 1, whenFull: 'reject' });
    const options = { address: '10.0.0.2', port: PORT };
    void a.cm.connect({ ...options, qp: makeSide(a).qp }).catch(() => {});
    world.runFor(1e9);
    const second = a.cm.connect({ ...options, qp: makeSide(a).qp }).catch((error: unknown) => error);
    expect(await world.run(second)).toMatchObject({ reason: CmRejReason.NoResources });
  });

  it('what the application says, its own number included', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    void listener.next().then(({ value }) => value.reject(Uint8Array.of(1), CmRejReason.InsufficientRespResources));
    const asked = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp });
    const error = await world.run(asked.catch((refused: unknown) => refused));
    expect(error).toMatchObject({ reason: 27, message: expect.stringContaining('InsufficientRespResources') });
  });
});

/**
 * A host at 10.0.0.1 with one queue pair, whose number is always 0x123: what it draws while it makes it is no chance.
 */
function life(world: World, name: string): { readonly device: Device; readonly qp: Qp } {
  let making = false;
  const device = world.attach(
    name,
    (machine, link, random) =>
      new Device({
        host: machine,
        random: { u32: () => (making ? 0x1_23_00 : random.u32()) },
        name,
        medium: link.medium,
        mac: parseMac('02:00:00:00:00:01'),
        addresses: [IpPrefix.parse('10.0.0.1/24')],
        mtu: link.mtu,
      }),
  );
  const pd = device.allocPd();
  const cq = device.createCq(16);
  making = true;
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  making = false;
  return { device, qp };
}

describe('a host that comes back with its old queue pair number', () => {
  it('is told that the connection is stale (10), the old one ends, and then it is served', async () => {
    const { world, b } = makePair();
    world.network.port('device 1')?.setFaults({ loss: 1 });
    const listener = b.cm.listen(PORT);
    const ends: string[] = [];
    const serve = async (): Promise<void> => {
      for await (const request of listener) {
        const connection = await request.accept({ qp: makeSide(b).qp });
        void connection.closed.then((cause) => ends.push(cause));
      }
    };
    void serve();
    const to = { address: '10.0.0.2', port: PORT };
    const first = life(world, 'first life');
    await world.run(first.device.cm.connect({ ...to, qp: first.qp }));
    world.runFor(1e6);
    world.network.port('first life')?.setFaults({ loss: 1 });

    const second = life(world, 'second life');
    expect([first.qp.qpn, second.qp.qpn]).toEqual([0x123, 0x123]);
    const refused = await world.run(second.device.cm.connect({ ...to, qp: second.qp }).catch((error) => error));
    expect(refused).toMatchObject({ reason: CmRejReason.StaleConnection });
    world.runFor(10e9);
    expect(ends).toEqual(['stale']);
    second.qp.modifyNow({ state: QpState.Reset });
    await world.run(second.device.cm.connect({ ...to, qp: second.qp }));
    expect(second.qp.state).toBe(QpState.Rts);
  });
});
