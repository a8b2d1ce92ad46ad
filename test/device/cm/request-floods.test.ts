/**
 * Goal: a flood of forged REQs keeps no honest caller from a listener for long, and from another listener not at all
 * (issue: hostile network, row 1; SEC-14). Method: devices of the simulated world, an attacker beside them, virtual
 * time until the honest caller is connected.
 */
import { describe, expect, it } from 'vitest';
import { attachDevice, type Device, IpAddress, World } from '../../../src/index.ts';
import { attach, type Flooder, nobody, SpoofedRequests } from '../flooder.ts';
import { makeSide, PORT } from '../support.ts';

const SECOND = 1e9;
const OURS = IpAddress.parse('10.0.0.1');
const LIAR = IpAddress.parse('10.0.0.66');

interface Scene {
  readonly world: World;
  readonly ours: Device;
  readonly peer: Device;
  readonly attacker: Flooder;
}

function makeScene(): Scene {
  const world = new World({ seed: 1 });
  const device = (n: number): Device => attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/16`] });
  return { world, ours: device(1), peer: device(2), attacker: attach(world) };
}

/** Takes each request after so long; accepts those of the peer, and refuses the others. */
async function serve({ world, ours }: Scene, port: number, eachNs: number): Promise<void> {
  for await (const request of ours.cm.listen(port)) {
    await world.sleep(eachNs);
    if (`${request.remoteAddress}` === '10.0.0.2') await request.accept({ qp: makeSide(ours, 64).qp });
    else request.reject();
  }
}

/** Seconds until the peer is connected to this port. */
async function secondsToConnect({ world, peer }: Scene, port: number): Promise<number> {
  const before = world.now;
  await world.run(peer.cm.connect({ address: OURS, port, qp: makeSide(peer, 64).qp }));
  return (world.now - before) / SECOND;
}

function flood({ ours, attacker }: Scene, from: (i: number) => IpAddress, count: number, perSecond: number): void {
  const spoofed = new SpoofedRequests({ address: OURS, mac: ours.mac }, PORT);
  attacker.flood(count, perSecond, (i) => spoofed.from(from(i)));
}

const SOURCES: readonly (readonly [string, (i: number) => IpAddress])[] = [
  ['one address', () => LIAR],
  ['many addresses', nobody],
];

describe.each(SOURCES)('2,000 forged REQs from %s to a listener that nobody reads (SEC-14)', (_, from) => {
  it('keep nobody from another listener', async () => {
    const scene = makeScene();
    scene.ours.cm.listen(PORT);
    void serve(scene, PORT + 1, 0);
    flood(scene, from, 2000, 20_000);
    await scene.world.run(scene.world.sleep(0.2 * SECOND));
    expect(await secondsToConnect(scene, PORT + 1)).toBeLessThan(0.01);
    expect(scene.ours.cm.size).toBeLessThanOrEqual(1024 + 1);
  });

  it('keep nobody from that listener once it is read', async () => {
    const scene = makeScene();
    const { world, ours } = scene;
    const listener = ours.cm.listen(PORT);
    flood(scene, from, 2000, 20_000);
    await world.run(world.sleep(0.2 * SECOND));
    let looked = 0;
    const reading = async (): Promise<void> => {
      await world.sleep(0.1 * SECOND);
      for await (const request of listener) {
        looked += 1;
        await world.sleep(1e5);
        if (`${request.remoteAddress}` !== '10.0.0.2') request.reject();
        else {
          await request.accept({ qp: makeSide(ours, 64).qp });
          listener.close();
          return;
        }
      }
    };
    const served = reading();
    // The application begins after 0.1 s, and takes 0.1 ms for each request.
    const seconds = await secondsToConnect(scene, PORT);
    // One source: the caller's turn is next. Many: it waits behind those that came before it.
    expect(seconds).toBeLessThan(from === nobody ? 0.1 + 1024 * 1e-4 + 0.01 : 0.11);
    await world.run(served);
    expect(looked).toBeLessThanOrEqual(from === nobody ? 1024 : 2);
  });
});

describe.each(SOURCES)(
  'a flood of forged REQs from %s to a listener that looks at 100 a second (SEC-14)',
  (_, from) => {
    it('at 50 a second keeps an honest caller waiting for a moment', async () => {
      const scene = makeScene();
      void serve(scene, PORT, SECOND / 100);
      flood(scene, from, 500, 50);
      await scene.world.run(scene.world.sleep(SECOND));
      expect(await secondsToConnect(scene, PORT)).toBeLessThan(0.05);
    });

    it('at 200 a second keeps an honest caller waiting for some repetitions of its REQ at most', async () => {
      const scene = makeScene();
      void serve(scene, PORT, SECOND / 100);
      flood(scene, from, 5000, 200);
      await scene.world.run(scene.world.sleep(SECOND));
      // From one address, its turn is next. From many, it is served as often as others, half of the times.
      expect(await secondsToConnect(scene, PORT)).toBeLessThan(from === nobody ? 4 * 4.3 : 0.05);
    });
  },
);
