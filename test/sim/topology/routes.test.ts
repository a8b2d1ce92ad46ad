/**
 * Goal: routes are all shortest ways and only those, in little memory; addresses lead back to hosts; flows spread over
 * equal ways. Method: followed to the end on random networks against a breadth-first search of the test's own;
 * chi-square for the hash.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMac } from '../../../packets/address.ts';
import { Prng } from '../../../src/ground/prng.ts';
import {
  clockwiseRoutes,
  custom,
  dumbbell,
  ecmpChoice,
  ecmpHash,
  fatTree,
  hostAddress,
  hostMac,
  hostOf,
  leafSpine,
  PathFinder,
  pathBetween,
  type Routes,
  ring,
  shortestPaths,
  sourceHostOf,
  star,
  type Topology,
} from '../../../src/sim/topology/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };

/** A connected network of switches at random, a host at each. */
const networks = fc
  .record({
    switches: fc.integer({ min: 2, max: 8 }),
    extra: fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 8 }),
  })
  .map(({ switches, extra }) => {
    const names = Array.from({ length: switches }, (_, index) => `s${index}`);
    const chain = names.slice(1).map((name, index) => ({ a: name, b: `s${index >> 1}`, ...LINK }));
    const more = extra.flatMap(([a, b]) =>
      a % switches === b % switches ? [] : [{ a: `s${a % switches}`, b: `s${b % switches}`, ...LINK }],
    );
    const hosts = names.map((name) => `at-${name}`);
    return custom({
      hosts,
      switches: names,
      links: [...chain, ...more, ...names.map((name) => ({ a: name, b: `at-${name}`, ...LINK }))],
    });
  });

/** Links between two nodes, Floyd-Warshall. */
function distances(topology: Topology): number[][] {
  const nodes = topology.nodeNames.map((_, node) => node);
  const between = nodes.map((a) => nodes.map((b): number => (a === b ? 0 : 1e6)));
  const set = (a: number, b: number): void => {
    const row = between[a];
    if (row !== undefined) row[b] = 1;
  };
  for (const { a, b } of topology.edges) {
    set(a, b);
    set(b, a);
  }
  for (const via of nodes)
    for (const row of between)
      for (const b of nodes) row[b] = Math.min(row[b] ?? 0, (row[via] ?? 0) + (between[via]?.[b] ?? 0));
  return between;
}

function otherEnd(topology: Topology, node: number, port: number): number {
  const edge = topology.edges.find(
    ({ a, aPort, b, bPort }) => (a === node && aPort === port) || (b === node && bPort === port),
  );
  if (edge === undefined) throw new Error(`nothing at ${node}:${port}`);
  return edge.a === node ? edge.b : edge.a;
}

/** Every set of ports, as 'switch>host': ports. */
function table(topology: Topology, routes: Routes): Record<string, number[]> {
  const entries: [string, number[]][] = [];
  for (let node = topology.hostCount; node < topology.nodeNames.length; node++)
    for (let host = 0; host < topology.hostCount; host++)
      entries.push([`${topology.nodeNames[node]}>${host}`, Array.from(routes.ports(node, host))]);
  return Object.fromEntries(entries);
}

describe('routes', () => {
  it('are exactly the ports that bring a packet one link nearer', () => {
    fc.assert(
      fc.property(networks, (topology) => {
        const routes = shortestPaths(topology);
        const between = distances(topology);
        for (let node = topology.hostCount; node < topology.nodeNames.length; node++)
          for (let host = 0; host < topology.hostCount; host++) {
            const ends = topology.edges.filter(({ a, b }) => a === node || b === node);
            const nearer = ends
              .map((edge) => (edge.a === node ? edge.aPort : edge.bPort))
              .filter(
                (port) => (between[otherEnd(topology, node, port)]?.[host] ?? 0) === (between[node]?.[host] ?? 0) - 1,
              )
              .sort((x, y) => x - y);
            expect(Array.from(routes.ports(node, host))).toEqual(nearer);
          }
      }),
    );
  });

  it('of a star and a dumbbell are what one sees', () => {
    const hub = star({ hosts: 3, link: LINK });
    expect(table(hub, shortestPaths(hub))).toEqual({ 'switch0>0': [0], 'switch0>1': [1], 'switch0>2': [2] });
    const two = dumbbell({ pairs: 1, edge: LINK, bottleneck: LINK });
    expect(table(two, shortestPaths(two))).toEqual({
      'switch0>0': [0],
      'switch0>1': [1],
      'switch1>0': [1],
      'switch1>1': [0],
    });
  });

  it('of a fat tree go up by k/2 ways and down by one', () => {
    const topology = fatTree({ k: 4, link: LINK });
    const ways = table(topology, shortestPaths(topology));
    expect(ways['edge0>0']).toEqual([0]);
    expect(ways['edge0>2']).toEqual([2, 3]);
    expect(ways['edge0>15']).toEqual([2, 3]);
    expect(ways['aggregation0>2']).toEqual([1]);
    expect(ways['aggregation0>15']).toEqual([2, 3]);
    expect(ways['core3>15']).toEqual([3]);
  });

  it('hold 1,024 hosts in a table of one number per pair of switches', () => {
    const topology = fatTree({ k: 16, link: LINK });
    const routes = shortestPaths(topology);
    const sets = new Set<ArrayLike<number>>();
    for (let node = 1_024; node < topology.nodeNames.length; node++)
      for (let host = 0; host < 1_024; host += 8) sets.add(routes.ports(node, host));
    // Up by eight ways, or down by one of sixteen ports; a host's own port is a set of its own.
    expect(sets.size).toBeLessThan(1 + 16 + 128 + 1);
    expect(routes.ports(1_024, 1_023)).toHaveLength(8);
  });

  it('lead one way round a ring when asked to, however far', () => {
    const topology = ring({ switches: 4, hostsPerSwitch: 1, link: LINK });
    expect(pathBetween(topology, clockwiseRoutes(topology), 0, 3)).toHaveLength(5);
    expect(pathBetween(topology, shortestPaths(topology), 0, 3)).toHaveLength(3);
    expect(() => clockwiseRoutes(star({ hosts: 2, link: LINK }))).toThrow('a star has no way round');
  });

  it('lead from every host to every other along links that follow each other', () => {
    fc.assert(
      fc.property(networks, (topology) => {
        const finder = new PathFinder(topology, shortestPaths(topology));
        const between = distances(topology);
        for (let from = 0; from < topology.hostCount; from++)
          for (let to = 0; to < topology.hostCount; to++)
            if (from !== to) expect(finder.path(from, to)).toHaveLength(between[from]?.[to] ?? -1);
      }),
    );
    const direct = custom({ hosts: ['a', 'b'], switches: [], links: [{ a: 'a', b: 'b', ...LINK }] });
    expect(pathBetween(direct, shortestPaths(direct), 0, 1)).toEqual(direct.edges);
  });

  it('end at the port that a host hangs on', () => {
    const topology = leafSpine({ leaves: 2, spines: 1, hostsPerLeaf: 2, hostLink: LINK, uplink: LINK });
    expect(new PathFinder(topology, shortestPaths(topology)).lastHop(3)).toEqual({ node: 5, port: 1 });
  });
});

describe('addresses', () => {
  it('count up from 10.0.0.1', () => {
    expect([0, 255, 65_536].map((host) => hostAddress(host).toString())).toEqual(['10.0.0.1', '10.0.1.0', '10.1.0.1']);
    expect(formatMac(hostMac(255))).toBe('02:00:0a:00:01:00');
  });

  it('lead back to the host', () => {
    fc.assert(
      fc.property(fc.nat(0xfe_ff_ff), fc.nat(0xfe_ff_ff), (from, to) => {
        const view = new DataView(new ArrayBuffer(40));
        hostAddress(from).write(view, 8 + 12);
        hostAddress(to).write(view, 8 + 16);
        expect([sourceHostOf(view, 8), hostOf(view, 8)]).toEqual([from, to]);
      }),
    );
  });
});

describe('ecmpHash', () => {
  const packet = (from: number, to: number, sourcePort: number): DataView => {
    const view = new DataView(new ArrayBuffer(28));
    view.setUint8(0, 0x45);
    hostAddress(from).write(view, 12);
    hostAddress(to).write(view, 16);
    view.setUint16(20, sourcePort);
    return view;
  };
  /** Chi-square of `draws` choices among `ways`. */
  const chiSquare = (ways: number, draws: number, choose: (draw: number) => number): number => {
    const boxes = new Array<number>(ways).fill(0);
    for (let draw = 0; draw < draws; draw++) {
      const box = choose(draw);
      boxes[box] = (boxes[box] ?? 0) + 1;
    }
    const expected = draws / ways;
    return boxes.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  };

  it('spreads neighbouring source ports, and neighbouring hosts, evenly over any number of ways', () => {
    // The 0.9999 quantile for up to 15 degrees of freedom is under 45.
    for (const ways of [2, 3, 8, 16]) {
      for (const seed of [0, 1, 77]) {
        expect(
          chiSquare(ways, 8_000, (i) => ecmpChoice(ecmpHash(packet(1, 2, 0xc0_00 + i), 0, seed), ways)),
        ).toBeLessThan(45);
        expect(
          chiSquare(ways, 8_000, (i) => ecmpChoice(ecmpHash(packet(i, i + 1, 0xc0_00), 0, seed), ways)),
        ).toBeLessThan(45);
      }
    }
  });

  it('chooses anew at the next switch: those that went one way there spread here', () => {
    const went = Array.from({ length: 40_000 }, (_, i) => packet(i % 97, 200, 0xc0_00 + (i % 0x40_00))).filter(
      (view) => ecmpChoice(ecmpHash(view, 0, 5), 8) === 3,
    );
    expect(went.length).toBeGreaterThan(3_000);
    const views = new Map(went.map((view, index) => [index, view]));
    const choose = (i: number): number => ecmpChoice(ecmpHash(views.get(i) ?? packet(0, 0, 0), 0, 6), 8);
    expect(chiSquare(8, went.length, choose)).toBeLessThan(60);
  });

  it('depends on nothing but addresses, source port and seed', () => {
    const random = new Prng(1);
    const view = packet(3, 4, 0xd0_00);
    const hash = ecmpHash(view, 0, 9);
    for (const at of [1, 2, 4, 6, 8, 10, 22, 24]) view.setUint8(at, random.below(256));
    expect(ecmpHash(view, 0, 9)).toBe(hash);
    expect(ecmpHash(view, 0, 10)).not.toBe(hash);
    expect(ecmpHash(packet(3, 4, 0xd0_01), 0, 9)).not.toBe(hash);
    expect(ecmpHash(packet(4, 3, 0xd0_00), 0, 9)).not.toBe(hash);
  });
});
