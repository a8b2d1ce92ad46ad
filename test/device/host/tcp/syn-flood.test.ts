/**
 * Goal: under any flood of SYNs an honest caller connects at once, what is kept is bounded, and what is sent to
 * addresses that have proved nothing stays within its budget (issue: hostile network, rows 5 and 6). Method: two
 * devices of the simulated world and an attacker beside them.
 */
import { describe, expect, it } from 'vitest';
import { TcpFlag } from '../../../../src/device/host/tcp/segment.ts';
import { attachDevice, type Device, IpAddress, type StrangerLimits, World } from '../../../../src/index.ts';
import { attach, type Flooder, nobody, segmentOf } from '../../flooder.ts';

const SECOND = 1e9;
const OURS = IpAddress.parse('10.0.0.1');
const LIAR = IpAddress.parse('10.0.0.66');
const PORT = 18_515;

interface Scene {
  readonly world: World;
  readonly ours: Device;
  readonly peer: Device;
  readonly attacker: Flooder;
}

function makeScene(strangers: Partial<StrangerLimits> = {}): Scene {
  const world = new World({ seed: 1 });
  const device = (n: number): Device =>
    attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/16`, `fd00::${n}/64`], strangers });
  return { world, ours: device(1), peer: device(2), attacker: attach(world) };
}

function tcpOf(device: Device) {
  if (device.tcp === undefined) throw new Error('a device on Ethernet has TCP');
  return device.tcp;
}

/** Sends `bytes` from the peer to a listener of ours; ends when they have come back. */
async function echo({ world, ours, peer }: Scene, port: number, bytes: Uint8Array, address = OURS): Promise<void> {
  const listener = tcpOf(ours).listen(port);
  const serving = listener.next().then(async ({ value: socket }) => socket.write(await socket.read(bytes.length)));
  const client = await world.run(tcpOf(peer).connect(address, port));
  void client.write(bytes);
  expect(await world.run(client.read(bytes.length))).toEqual(bytes);
  await world.run(serving);
  listener.close();
}

describe('a flood of SYNs to a listener', () => {
  it.each([
    ['one address', () => LIAR, 20],
    ['one address, fast', () => LIAR, 5000],
    ['many addresses', nobody, 20],
    ['many addresses, fast', nobody, 5000],
  ])('from %s keeps no honest caller waiting', async (_, from, perSecond) => {
    const scene = makeScene();
    const { world, ours, peer, attacker } = scene;
    const victim = { address: OURS, mac: ours.mac };
    const listener = tcpOf(ours).listen(PORT);
    attacker.flood(perSecond * 4, perSecond, (i) =>
      segmentOf(victim, from(i), { from: 1024 + (i % 60_000), to: PORT }, { seq: i }),
    );
    for (const at of [0.001, 1, 3.5]) {
      world.runFor(at * SECOND - world.now);
      const before = world.now;
      const [client, accepted] = await world.run(Promise.all([tcpOf(peer).connect(OURS, PORT), listener.next()]));
      expect(accepted.value.remotePort).toBe(client.localPort);
      expect(world.now - before).toBeLessThan(0.01 * SECOND);
    }
    expect(ours.tcp?.size).toBeLessThanOrEqual(64 + 3);
    expect(ours.tcp?.counters).toMatchObject({ backlogFull: 0, resetsDropped: 0 });
    await echo(scene, PORT + 1, new Uint8Array(5000).fill(7));
  });

  it('of its own size draws at most four times its bytes, and one frame for each SYN beyond those kept', async () => {
    for (const count of [1, 64, 1000]) {
      const { world, ours, attacker } = makeScene();
      tcpOf(ours).listen(PORT);
      attacker.answersFor(LIAR);
      const victim = { address: OURS, mac: ours.mac };
      attacker.flood(count, 10_000, (i) => segmentOf(victim, LIAR, { from: 1024 + i, to: PORT }));
      world.runFor(200 * SECOND);
      const asked = ours.paths.neighbours?.counters.questions ?? 0;
      expect(attacker.heard.frames - asked).toBe(count + 3 * Math.min(count, 64));
      expect(attacker.heard.bytes - 60 * asked).toBeLessThanOrEqual(4 * attacker.sent.bytes);
      expect(ours.tcp?.size).toBe(0);
    }
  });

  it('draws no RST when the listener or the device closes', () => {
    for (const closes of ['listener', 'device'] as const) {
      const { world, ours, attacker } = makeScene();
      const listener = tcpOf(ours).listen(PORT);
      attacker.answersFor(LIAR);
      const victim = { address: OURS, mac: ours.mac };
      attacker.flood(8, 1000, (i) => segmentOf(victim, LIAR, { from: 1024 + i, to: PORT }));
      world.runFor(0.1 * SECOND);
      const before = attacker.heard.frames;
      expect(before).toBeGreaterThanOrEqual(8);
      if (closes === 'listener') listener.close();
      else ours.close();
      world.runFor(0.1 * SECOND);
      expect([attacker.heard.frames - before, ours.tcp?.size]).toEqual([0, 0]);
    }
  });

  it('is not answered beyond what is kept where cookies are switched off', async () => {
    const { world, ours, attacker } = makeScene({ synCookies: false, maxHalfOpen: 8 });
    tcpOf(ours).listen(PORT);
    const victim = { address: OURS, mac: ours.mac };
    attacker.flood(100, 10_000, (i) => segmentOf(victim, LIAR, { from: 1024 + i, to: PORT }));
    world.runFor(SECOND);
    expect([ours.tcp?.size, ours.tcp?.counters.backlogFull, ours.tcp?.counters.cookiesSent]).toEqual([8, 92, 0]);
  });
});

describe('with cookies only', () => {
  it('connections carry data over both IP versions, and those of the device go on', async () => {
    const scene = makeScene({ maxHalfOpen: 0 });
    await echo(scene, PORT, new Uint8Array(20_000).fill(3));
    await echo(scene, PORT + 1, new Uint8Array(20_000).fill(4), IpAddress.parse('fd00::1'));
    expect(scene.ours.tcp?.counters).toMatchObject({ cookiesSent: 2, cookiesTaken: 2, badCookies: 0 });
  });

  it('an ACK that no cookie of ours allows makes no connection and draws one RST', async () => {
    const { world, ours, attacker, ...scene } = makeScene({ maxHalfOpen: 0 });
    await echo({ world, ours, attacker, ...scene }, PORT, new Uint8Array(1));
    tcpOf(ours).listen(PORT);
    const before = attacker.heard.frames;
    const victim = { address: OURS, mac: ours.mac };
    attacker.flood(1000, 10_000, (i) =>
      segmentOf(
        victim,
        LIAR,
        { from: 1024 + i, to: PORT },
        { flags: TcpFlag.Ack, seq: 2 ** 22 * i, ack: 2 ** 21 * i + 1 },
      ),
    );
    world.runFor(SECOND);
    expect(ours.tcp?.counters).toMatchObject({ badCookies: 1000, cookiesTaken: 1 });
    expect(attacker.heard.frames - before).toBe(1000);
    expect(attacker.heard.bytes).toBeLessThanOrEqual(attacker.sent.bytes + 200);
  });

  it('an old cookie counts no more', async () => {
    const { world, ours, attacker } = makeScene({ maxHalfOpen: 0 });
    tcpOf(ours).listen(PORT);
    const victim = { address: OURS, mac: ours.mac };
    attacker.flood(1, 1, () => segmentOf(victim, LIAR, { from: 1024, to: PORT }, { seq: 9 }));
    world.runFor(SECOND);
    const cookie = attacker.last.getUint32(14 + 20 + 4);
    const ack = { flags: TcpFlag.Ack, seq: 10, ack: (cookie + 1) >>> 0 };
    world.runFor(200 * SECOND);
    attacker.flood(1, 1, () => segmentOf(victim, LIAR, { from: 1024, to: PORT }, ack));
    world.runFor(SECOND);
    expect(ours.tcp?.counters).toMatchObject({ cookiesSent: 1, cookiesTaken: 0, noConnection: 1 });
  });
});
