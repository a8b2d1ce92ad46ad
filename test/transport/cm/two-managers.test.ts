/**
 * Two connection managers on a channel that loses, repeats and reorders.
 *
 * Goal: whatever the channel does, both sides end in the same place, in bounded virtual time. Method: a world of two
 * endpoints and messages in flight; each message takes its fate from a list that fast-check draws and shrinks; virtual
 * time jumps to the next arrival or deadline. No side can know whether its last message arrived, so agreement is
 * promised while losses stay within the retries; beyond that, that everything ends.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IpAddress } from '../../../packets/address.ts';
import { CmInputStatus, ConnectionManager, type OutgoingMad } from '../../../transport/cm/index.ts';
import { ACCEPT, CONNECT, OUR_GUID, PEER, PEER_GUID, SERVICE, seededRandom, T, US } from './harness.ts';

interface Fate {
  readonly lost: boolean;
  /** When the copies arrive, as parts of the response timeout; the first is the message itself. */
  readonly delays: readonly number[];
}

const RELIABLE: Fate = { lost: false, delays: [0.01] };

class Endpoint {
  readonly address: IpAddress;
  readonly cm: ConnectionManager;
  readonly log: string[] = [];
  readonly up = new Set<number>();
  readonly known = new Set<number>();
  readonly accepts: boolean;

  constructor(address: IpAddress, caGuid: bigint, seed: number, accepts: boolean) {
    this.address = address;
    this.accepts = accepts;
    this.cm = new ConnectionManager({ random: seededRandom(seed), caGuid, requestLifetimeNs: 30 * T });
    this.cm.listen(SERVICE, 8);
  }

  /** A simple application: accepts or rejects, is ready at once. */
  react(now: number): void {
    for (let event = this.cm.pollEvent(); event !== undefined; event = this.cm.pollEvent()) {
      this.log.push(event.type);
      this.known.add(event.id);
      if (event.type === 'connect-request' && this.accepts) this.cm.accept(now, event.id, ACCEPT);
      if (event.type === 'connect-request' && !this.accepts) this.cm.reject(now, event.id);
      if (event.type === 'connect-response') this.cm.ready(now, event.id);
      if (event.type === 'established') this.up.add(event.id);
      if (event.type === 'disconnected' || event.type === 'rejected') this.up.delete(event.id);
    }
  }
}

class World {
  now = 0;
  readonly a: Endpoint;
  readonly b: Endpoint;
  lost = 0;
  readonly #fates: Fate[];
  #inFlight: { readonly at: number; readonly order: number; readonly mad: OutgoingMad }[] = [];
  #order = 0;

  constructor(fates: readonly Fate[], seed: number, accepts: boolean) {
    this.#fates = [...fates];
    this.a = new Endpoint(US, OUR_GUID, seed, accepts);
    this.b = new Endpoint(PEER, PEER_GUID, seed + 1, accepts);
  }

  connect(): number {
    return this.a.cm.connect(this.now, { ...CONNECT, maxCmRetries: 5 });
  }

  /** Runs until nothing is in flight and no deadline is left, or until `end`. */
  run(end = Number.POSITIVE_INFINITY): void {
    for (let steps = 0; ; steps++) {
      if (steps > 20_000) throw new Error('the world does not come to rest');
      this.#collect(this.a);
      this.#collect(this.b);
      const arrival = Math.min(...this.#inFlight.map(({ at }) => at));
      const next = Math.min(arrival, this.a.cm.pollTimeout(), this.b.cm.pollTimeout());
      if (next === Number.POSITIVE_INFINITY || next > end) break;
      this.now = Math.max(this.now, next);
      this.a.cm.handleTimeout(this.now);
      this.b.cm.handleTimeout(this.now);
      this.#deliver();
    }
    if (end !== Number.POSITIVE_INFINITY) this.now = Math.max(this.now, end);
  }

  #collect(endpoint: Endpoint): void {
    endpoint.react(this.now);
    for (let mad = endpoint.cm.pollTransmit(this.now); mad; mad = endpoint.cm.pollTransmit(this.now)) {
      const fate = this.#fates.shift() ?? RELIABLE;
      if (fate.lost) this.lost++;
      const copies = fate.lost ? [] : fate.delays;
      for (const delay of copies) {
        this.#inFlight.push({ at: this.now + Math.round(delay * T), order: this.#order++, mad });
      }
    }
  }

  #deliver(): void {
    const here = this.#inFlight.filter(({ at }) => at <= this.now).sort((x, y) => x.at - y.at || x.order - y.order);
    this.#inFlight = this.#inFlight.filter(({ at }) => at > this.now);
    for (const { mad } of here) {
      const to = mad.destination.equals(this.a.address) ? this.a : this.b;
      const view = new DataView(mad.bytes.slice().buffer);
      const origin = { source: mad.source, destination: mad.destination, sourceQpn: 1 };
      const status = to.cm.handleMad(this.now, view, 0, 256, origin);
      expect(status).not.toBe(CmInputStatus.ForeignAddress);
    }
  }
}

const delays = (max: number) => fc.array(fc.double({ min: 0, max, noNaN: true }), { minLength: 1, maxLength: 3 });
const fate = (max: number) => fc.record({ lost: fc.boolean(), delays: delays(max) });
const seed = fc.integer({ min: 1, max: 1_000_000 });

/** Lets at most `budget` messages be lost. */
function within(budget: number, fates: readonly Fate[]): Fate[] {
  let left = budget;
  return fates.map((one) => ({ ...one, lost: one.lost && left-- > 0 }));
}

describe('two connection managers', () => {
  it('connect and disconnect with five messages when nothing goes wrong', () => {
    const world = new World([], 1, true);
    const id = world.connect();
    world.run();
    expect(world.a.cm.state(id)).toBe('established');
    expect(world.a.log).toEqual(['connect-response', 'established']);
    expect(world.b.log).toEqual(['connect-request', 'established']);
    world.a.cm.disconnect(world.now, id);
    world.run();
    expect(world.a.log.slice(2)).toEqual(['disconnected', 'timewait-exit']);
    expect(world.b.log.slice(2)).toEqual(['disconnected', 'timewait-exit']);
    expect([world.a.cm.size, world.b.cm.size]).toEqual([0, 0]);
  });

  it('always agree while losses stay within the retries: connected both, or failed both', () => {
    fc.assert(
      fc.property(fc.array(fate(0.2), { maxLength: 40 }), seed, fc.boolean(), fc.nat(2), (fates, s, accepts, who) => {
        const world = new World(within(4, fates), s, accepts);
        const id = world.connect();
        world.run(40 * T);
        expect(world.a.up.size).toBe(accepts ? 1 : 0);
        expect(world.b.up.size).toBe(accepts ? 1 : 0);
        expect(world.b.log.filter((type) => type === 'connect-request').length).toBe(1);
        if (!accepts) expect(world.a.log).toEqual(['rejected']);
        const [other] = world.b.up;
        // One of them ends it, or both at once.
        if (accepts && who !== 1) world.a.cm.disconnect(world.now, id);
        if (accepts && who !== 0) world.b.cm.disconnect(world.now, other ?? 0);
        world.run();
        const ends = accepts ? ['disconnected', 'timewait-exit'] : [];
        expect(world.a.log.slice(-2)).toEqual(accepts ? ends : ['rejected']);
        if (accepts) expect(world.b.log.slice(-2)).toEqual(ends);
        expect([world.a.cm.size, world.b.cm.size]).toEqual([0, 0]);
        expect(world.now).toBeLessThan(200 * T);
      }),
      { numRuns: 300 },
    );
  });

  it('always end in bounded time, whatever the channel does', () => {
    fc.assert(
      fc.property(fc.array(fate(5), { maxLength: 80 }), seed, fc.boolean(), (fates, s, accepts) => {
        const world = new World(fates, s, accepts);
        world.connect();
        world.run();
        // Whatever side still believes in a connection lets go of it, and both forget.
        for (const endpoint of [world.a, world.b]) {
          expect(endpoint.log.filter((type) => type === 'established').length).toBeLessThanOrEqual(endpoint.known.size);
          for (const id of endpoint.known) endpoint.cm.destroy(world.now, id);
        }
        world.run();
        expect([world.a.cm.size, world.b.cm.size]).toEqual([0, 0]);
        expect([world.a.cm.pendingCount, world.b.cm.pendingCount]).toEqual([0, 0]);
        expect(world.now).toBeLessThan(2_000 * T);
      }),
      { numRuns: 300 },
    );
  });

  it('do the same thing again for the same seed and the same fates', () => {
    fc.assert(
      fc.property(fc.array(fate(2), { maxLength: 30 }), seed, (fates, s) => {
        const runs = [0, 1].map(() => {
          const world = new World(fates, s, true);
          world.connect();
          world.run();
          return [world.now, world.a.log, world.b.log, [...world.a.up], [...world.b.up]];
        });
        expect(runs[0]).toEqual(runs[1]);
      }),
      { numRuns: 50 },
    );
  });

  it('of which one is both: a connection to oneself works', () => {
    const cm = new ConnectionManager({ random: seededRandom(9), caGuid: OUR_GUID });
    cm.listen(SERVICE, 1);
    const pump = () => {
      for (let mad = cm.pollTransmit(0); mad; mad = cm.pollTransmit(0)) {
        const origin = { source: mad.source, destination: mad.destination, sourceQpn: 1 };
        cm.handleMad(0, new DataView(mad.bytes.buffer), 0, 256, origin);
      }
    };
    const id = cm.connect(0, { ...CONNECT, remote: US, qpn: 0x70 });
    pump();
    const request = cm.pollEvent();
    expect(request?.type).toBe('connect-request');
    cm.accept(0, request?.id ?? 0, ACCEPT);
    pump();
    expect(cm.pollEvent()?.type).toBe('connect-response');
    cm.ready(0, id);
    pump();
    expect([cm.pollEvent()?.type, cm.pollEvent()?.type]).toEqual(['established', 'established']);
    expect([cm.state(id), cm.state(request?.id ?? 0)]).toEqual(['established', 'established']);
  });
});
