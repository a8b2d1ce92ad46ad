/**
 * Goal: strangers neither evict a neighbour that is in use, nor redirect a live connection, nor keep the host from
 * resolving (issue: hostile network, rows 2 and 3). Method: two devices of the simulated world on a /16, and an
 * attacker beside them who sends from addresses that nobody has.
 */
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress } from '../../../packets/address.ts';
import { advertisementFrame, arpReplyFrame, solicitationFrame } from '../../../src/device/host/neighbour-frames.ts';
import { attachDevice, type Device, WcStatus, World, WrOpcode } from '../../../src/index.ts';
import { attach, EVIL_MAC, type Flooder, nobody, SpoofedRequests } from '../flooder.ts';
import { makeSide, PORT, type Side } from '../support.ts';

const SECOND = 1e9;
const OURS = IpAddress.parse('10.0.0.1');
const PEER = IpAddress.parse('10.0.0.2');
const OTHER = IpAddress.parse('10.0.0.3');

interface Scene {
  readonly world: World;
  readonly ours: Device;
  readonly peer: Device;
  readonly attacker: Flooder;
}

function makeScene(): Scene {
  const world = new World({ seed: 1 });
  const device = (n: number): Device =>
    attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/16`, `fd00::${n}/64`] });
  const scene = { world, ours: device(1), peer: device(2), attacker: attach(world) };
  device(3);
  return scene;
}

async function connect({ world, ours, peer }: Scene, address: string): Promise<[Side, Side]> {
  const [left, right] = [makeSide(ours), makeSide(peer)];
  const listener = peer.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  await world.run(Promise.all([ours.cm.connect({ address, port: PORT, qp: left.qp }), accepting]));
  listener.close();
  return [left, right];
}

async function write(world: World, from: Side, to: Side): Promise<WcStatus> {
  const { mr } = to;
  const sges = [{ mr: from.mr, length: 100 }];
  from.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges, remoteAddr: mr.iova, rkey: mr.rkey });
  return (await world.run(from.cq.next())).value.status;
}

const countersOf = (device: Device) => device.paths.neighbours?.counters;

describe('3,000 spoofed REQs to a closed port', () => {
  it('leave the neighbours that are known, and room to resolve others', async () => {
    const scene = makeScene();
    const { world, ours, attacker } = scene;
    await connect(scene, '10.0.0.2');
    const spoofed = new SpoofedRequests({ address: OURS, mac: ours.mac }, PORT + 1);
    attacker.flood(3000, 100_000, (i) => spoofed.from(nobody(i)));
    world.runFor(0.1 * SECOND);
    expect(ours.cm.counters()['NoListener']).toBe(3000);
    expect(ours.paths.neighbours?.lookup(PEER)).toBeDefined();
    await world.run(ours.resolve(OTHER));
    // 64 next hops are resolved for strangers, and no more; the attacker hears their broadcasts.
    expect(attacker.heard.frames).toBeLessThanOrEqual(64 + 2);
    expect(countersOf(ours)?.strangersDropped).toBe(3000 - 64);
    world.runFor(4 * SECOND);
    expect(attacker.heard.frames).toBeLessThanOrEqual(3 * 64 + 2);
  });

  it('keep a stranger waiting for its refusal no longer than until it is known by its own solicitation', async () => {
    const { world, ours, peer, attacker } = makeScene();
    const spoofed = new SpoofedRequests({ address: OURS, mac: ours.mac }, PORT + 1);
    attacker.flood(30_000, 1000, (i) => spoofed.from(nobody(i % 3000)));
    world.runFor(SECOND);
    const refused = peer.cm.connect({ address: OURS, port: PORT + 1, qp: makeSide(peer).qp });
    await expect(world.run(refused)).rejects.toMatchObject({ code: 'ERR_ROCE_REJECTED' });
    expect(world.now).toBeLessThan(1.1 * SECOND);
  });
});

it('3,000 spoofed ARP requests evict neither what the host has resolved nor what its queue pairs use', async () => {
  const scene = makeScene();
  const { world, ours, attacker } = scene;
  await connect(scene, '10.0.0.2');
  await world.run(ours.resolve(OTHER));
  attacker.flood(3000, 100_000, (i) => solicitationFrame({ mac: EVIL_MAC, address: nobody(i) }, OURS, ours.mac));
  world.runFor(SECOND);
  expect([PEER, OTHER].map((address) => ours.paths.neighbours?.lookup(address) !== undefined)).toEqual([true, true]);
  // One answer to each, and to the attacker alone.
  expect(attacker.heard.frames).toBeLessThanOrEqual(3000 + 4);
  await world.run(ours.resolve(IpAddress.parse('fd00::3')));
});

describe('a live connection', () => {
  it.each([
    ['an ARP reply', '10.0.0.2', (us: Device) => arpReplyFrame(evil('10.0.0.2'), { mac: us.mac, address: OURS })],
    ['an ARP request', '10.0.0.2', (us: Device) => solicitationFrame(evil('10.0.0.2'), OURS, us.mac)],
    ['a gratuitous ARP', '10.0.0.2', () => solicitationFrame(evil('10.0.0.2'), PEER)],
    [
      'an advertisement',
      'fd00::2',
      (us: Device) => advertisementFrame(evil('fd00::2'), { mac: us.mac, address: IpAddress.parse('fd00::1') }),
    ],
    [
      'a solicitation',
      'fd00::2',
      (us: Device) => solicitationFrame(evil('fd00::2'), IpAddress.parse('fd00::1'), us.mac),
    ],
  ])('is not redirected by %s that nobody asked for', async (_, address, lie) => {
    const scene = makeScene();
    const { world, ours, peer, attacker } = scene;
    const [left, right] = await connect(scene, address);
    attacker.flood(2000, 1000, () => lie(ours));
    for (let i = 0; i < 20; i++) {
      world.runFor(0.1 * SECOND);
      expect(await write(world, left, right)).toBe(WcStatus.Success);
    }
    expect(formatMac(left.qp.core.config.path?.template.bytes ?? EVIL_MAC)).toBe(formatMac(peer.mac));
    expect(ours.portCounters.localAckTimeoutErr).toBe(0);
    expect(countersOf(ours)).toMatchObject({ moved: 0 });
    expect(countersOf(ours)?.claims).toBeGreaterThan(1900);
    // 2,000 lies draw one unicast solicitation a second.
    expect(countersOf(ours)?.questions).toBeLessThanOrEqual(1 + 3);
  });
});

function evil(text: string) {
  return { mac: EVIL_MAC, address: IpAddress.parse(text) };
}
