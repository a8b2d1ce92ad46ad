/**
 * Goal: congestion control changes when packets leave and nothing else. Whatever marks, loses or mixes up packets, work
 * ends as it does without; no flow is faster than its controller says, no CNP follows another too soon, and everything
 * comes to an end. Method: random work of all services between devices of a simulated network, with random controllers,
 * watched on the wire; each run is compared with one of the same work on a network without faults and devices without
 * congestion control. FC_RUNS sets the number of runs.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CongestionOptions, ControllerSpec } from '../../transport/congestion/index.ts';
import { fcRuns } from '../transport/support/peer.ts';
import {
  CongestedWorld,
  type Connection,
  type Departure,
  KINDS,
  MAX_BYTES,
  MAX_WORK,
  POSTING_NS,
  type Scenario,
} from './support/congested-world.ts';

const parameters = (normal: number) => ({ numRuns: fcRuns(normal) });

/** Rates are drawn so that slow ones are as likely as fast ones. */
const rate = (low: number, high: number) =>
  fc.double({ min: Math.log(low), max: Math.log(high), noNaN: true }).map((x) => Math.round(Math.exp(x)));

const length = fc.oneof(fc.nat(MAX_BYTES), fc.constantFrom(0, 1, 255, 256, 257, 1024, 4096, 4097, MAX_BYTES));

const work = fc.record({
  kind: fc.constantFrom(...KINDS),
  length,
  by: fc.constantFrom(0 as const, 1 as const),
  // Half of it in one burst.
  atNs: fc.oneof(fc.constant(0), fc.nat(POSTING_NS)),
});

const connection = (...services: readonly Connection['service'][]) =>
  fc.record({ service: fc.constantFrom(...services), work: fc.array(work, { minLength: 1, maxLength: MAX_WORK }) });

const reaction: fc.Arbitrary<ControllerSpec> = fc.oneof(
  fc.constant({ kind: 'none' } as const),
  fc.record({ kind: fc.constant('fixed-rate' as const), rateBps: rate(5e6, 20e9) }),
  fc.record({
    kind: fc.constant('dcqcn' as const),
    profile: fc.constant('paper' as const),
    parameters: fc.record({
      minRateBps: rate(5e6, 1e9),
      rateTimerNs: fc.integer({ min: 1000, max: 100_000 }),
      byteCounterBytes: fc.oneof(fc.constant(0), fc.integer({ min: 1000, max: 100_000 })),
      fastRecoveryStages: fc.nat(5),
      aiRateBps: rate(1e6, 1e9),
    }),
  }),
  fc.record({
    kind: fc.constant('dcqcn' as const),
    profile: fc.constant('mlx' as const),
    parameters: fc.record({ rpgMinRateBps: rate(5e6, 1e9), rpgTimeResetNs: fc.integer({ min: 1000, max: 300_000 }) }),
  }),
);

const congestion: fc.Arbitrary<CongestionOptions> = fc.record({
  reaction,
  lineRateBps: rate(1e9, 100e9),
  maxBurstBytes: fc.oneof(fc.constant(0), fc.nat(20_000)),
  notification: fc.record({
    minTimeBetweenCnpsNs: fc.oneof(fc.constant(0), fc.nat(60_000)),
    cnpDscp: fc.nat(63),
    becn: fc.constantFrom(0 as const, 1 as const),
    signal: fc.constantFrom('cnp' as const, 'cnp' as const, 'ack' as const),
  }),
});

const chance = (max: number) => fc.oneof(fc.constant(0), fc.double({ min: 0, max, noNaN: true }));
const marks = fc.record({ ceMark: fc.oneof(fc.constantFrom(0, 1), chance(1)), jitterNs: fc.nat(5000) });
const trouble = fc.record({ loss: chance(0.03), duplicate: chance(0.1), reorder: chance(0.05), ceMark: chance(1) });

const losses = fc.record({ loss: chance(0.05), ceMark: chance(1) });

const scenario = (
  faults: Scenario['faults'] | fc.Arbitrary<Scenario['faults']>,
  connections = connection('rc', 'uc', 'ud'),
) =>
  fc.record<Scenario>({
    seed: fc.nat(0x7f_ff_ff_ff),
    version: fc.constantFrom(4 as const, 6 as const),
    vlan: fc.boolean(),
    mtu: fc.constantFrom(256 as const, 1024 as const, 4096 as const),
    devices: fc.constantFrom(2, 3),
    connections: fc.array(connections, { minLength: 1, maxLength: 4 }),
    faults: faults instanceof fc.Arbitrary ? faults : fc.constant(faults),
    timeout: fc.integer({ min: 12, max: 15 }),
    batchFrames: fc.constantFrom(1, 2, 64),
    congestion,
  });

const plain = (each: Scenario) => new CongestedWorld({ ...each, faults: {}, congestion: undefined }).run();

function expectPaced(departures: readonly Departure[], maxBurstBytes: number): void {
  // What has left and has not had its time yet, in bytes, just after each departure.
  let backlog = 0;
  let before: Departure | undefined;
  for (const frame of departures) {
    if (before !== undefined) {
      const rateBps = Math.max(before.rateBps, frame.rateBps);
      // One of the two rates is Infinity as a flow is cut or released: the time between says nothing.
      backlog = rateBps === Infinity ? 0 : Math.max(0, backlog - (rateBps * (frame.at - before.at + 1)) / 8e9);
    }
    expect(backlog).toBeLessThanOrEqual(maxBurstBytes + 1);
    backlog += frame.bytes;
    before = frame;
  }
}

function expectSpaced(world: CongestedWorld, minimumNs: number): void {
  for (const times of world.notifications.values())
    for (let i = 1; i < times.length; i++)
      expect((times[i] ?? 0) - (times[i - 1] ?? 0)).toBeGreaterThanOrEqual(minimumNs);
}

function expectWellBehaved(world: CongestedWorld, { congestion: options }: Scenario): void {
  for (const departures of world.departures.values()) expectPaced(departures, options?.maxBurstBytes ?? 0);
  const notification = options?.notification;
  if (notification !== undefined && notification !== false) expectSpaced(world, notification.minTimeBetweenCnpsNs ?? 0);
}

const sum = (
  world: CongestedWorld,
  name: 'npCnpSent' | 'npEcnMarkedRocePackets' | 'rpCnpHandled' | 'rpCnpIgnored' | 'rpCnpExcess',
) => world.devices.reduce((total, { portCounters }) => total + portCounters[name], 0);

describe('devices with congestion control', () => {
  it('on a network that only marks do all that they do without, and every CNP arrives', async () => {
    await fc.assert(
      fc.asyncProperty(scenario(marks), async (each) => {
        const [world, ideal] = [await new CongestedWorld(each).run(), await plain(each)];
        each.connections.forEach((_, c) => {
          expect(world.log(c)).toEqual(ideal.log(c));
          expect(world.sameMemory(c, ideal)).toBe(true);
        });
        expectWellBehaved(world, each);
        const cnps = [...world.notifications.values()].reduce((total, { length: n }) => total + n, 0);
        expect(sum(world, 'npCnpSent')).toBe(cnps);
        expect(sum(world, 'npEcnMarkedRocePackets')).toBeGreaterThanOrEqual(cnps);
        const notification = each.congestion?.notification;
        if (notification !== undefined && notification !== false && notification.signal === 'cnp') {
          // Jitter may bring more of one flow together than count at once.
          const [handled, ignored, excess] = [
            sum(world, 'rpCnpHandled'),
            sum(world, 'rpCnpIgnored'),
            sum(world, 'rpCnpExcess'),
          ];
          expect(handled + ignored + excess).toBe(cnps);
          expect(excess).toBeLessThanOrEqual(cnps / 3);
        } else expect(cnps).toBe(0);
      }),
      parameters(25),
    );
  });

  it('on a network that loses, doubles, mixes up and marks packets complete reliable work all the same', async () => {
    await fc.assert(
      fc.asyncProperty(scenario(trouble, connection('rc')), async (each) => {
        const [world, ideal] = [await new CongestedWorld(each).run(), await plain(each)];
        each.connections.forEach((_, c) => {
          expect(world.log(c)).toEqual(ideal.log(c));
          expect(world.sameMemory(c, ideal)).toBe(true);
        });
        expectWellBehaved(world, each);
      }),
      parameters(25),
    );
  });

  it('on a network that loses and marks packets lose of unreliable work what the network lost, and no more', async () => {
    await fc.assert(
      fc.asyncProperty(scenario(losses, connection('uc', 'ud')), async (each) => {
        const [world, ideal] = [await new CongestedWorld(each).run(), await plain(each)];
        each.connections.forEach((_, c) => {
          world.log(c).forEach(({ sends, recvs }, i) => {
            const wanted = ideal.log(c)[i];
            expect(sends).toEqual(wanted?.sends);
            expect(isPartOf(recvs, wanted?.recvs ?? [])).toBe(true);
          });
        });
        expectWellBehaved(world, each);
      }),
      parameters(15),
    );
  });

  it('send the same bytes at the same times from the same seed', async () => {
    await fc.assert(
      fc.asyncProperty(scenario(trouble), async (each) => {
        const [first, second] = [await new CongestedWorld(each).run(), await new CongestedWorld(each).run()];
        expect([second.trace, second.world.now]).toEqual([first.trace, first.world.now]);
      }),
      parameters(8),
    );
  });
});

/** Whether `part` is what is left of `whole` when some of it is taken away. */
function isPartOf(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const each of whole) if (at < part.length && part[at] === each) at += 1;
  return at === part.length;
}
