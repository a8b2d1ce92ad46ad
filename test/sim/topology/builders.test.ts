/**
 * Goal: every builder makes the network it says, and an impossible one is refused by name.
 * Method: counts and joints by hand, properties over sizes, one refusal per reason.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  buildTopology,
  checkTopology,
  custom,
  dumbbell,
  fatTree,
  leafSpine,
  parkingLot,
  portCounts,
  portName,
  ring,
  star,
  type Topology,
  type TopologySpec,
} from '../../../src/sim/topology/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };
const SLOW = { rateBps: 10e9, delayNs: 5_000 };

/** 'a:port - b:port' of every link. */
function joints(topology: Topology): string[] {
  return topology.edges.map((edge) => {
    return `${portName(topology, edge.a, edge.aPort)} - ${portName(topology, edge.b, edge.bPort)}`;
  });
}

describe('builders', () => {
  it('joins the two sides of a dumbbell by the last port of its switches', () => {
    const topology = dumbbell({ pairs: 2, edge: LINK, bottleneck: SLOW });
    expect(joints(topology)).toEqual([
      'host0:0 - switch0:0',
      'host1:0 - switch0:1',
      'host2:0 - switch1:0',
      'host3:0 - switch1:1',
      'switch0:2 - switch1:2',
    ]);
    expect(topology.edges.at(-1)).toMatchObject(SLOW);
  });

  it('puts host i at port i of a star', () => {
    expect(joints(star({ hosts: 3, link: LINK }))).toEqual([
      'host0:0 - switch0:0',
      'host1:0 - switch0:1',
      'host2:0 - switch0:2',
    ]);
  });

  it('joins every leaf with every spine', () => {
    const topology = leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 2, hostLink: LINK, uplink: SLOW });
    expect(joints(topology)).toEqual([
      'host0:0 - leaf0:0',
      'host1:0 - leaf0:1',
      'leaf0:2 - spine0:0',
      'leaf0:3 - spine1:0',
      'host2:0 - leaf1:0',
      'host3:0 - leaf1:1',
      'leaf1:2 - spine0:1',
      'leaf1:3 - spine1:1',
    ]);
  });

  it('gives a fat tree k^3 / 4 hosts and switches with exactly k ports', () => {
    for (const k of [2, 4, 6, 8]) {
      const topology = fatTree({ k, link: LINK });
      expect(topology.hostCount).toBe(k ** 3 / 4);
      expect(topology.switchCount).toBe(k * k + k ** 2 / 4);
      expect(topology.edges).toHaveLength((3 * k ** 3) / 4);
      expect(new Set(portCounts(topology).slice(topology.hostCount))).toEqual(new Set([k]));
      expect(topology.edges.filter(({ b }) => topology.nodeNames[b] === 'core0').map(({ bPort }) => bPort)).toEqual(
        Array.from({ length: k }, (_, pod) => pod),
      );
    }
  });

  it('has the bottlenecks of a parking lot at port 0', () => {
    const topology = parkingLot({ hops: 2, edge: LINK, bottleneck: SLOW });
    expect(joints(topology)).toEqual([
      'switch0:0 - switch1:1',
      'switch1:0 - switch2:1',
      'host0:0 - switch0:2',
      'host1:0 - switch2:2',
      'host2:0 - switch0:3',
      'host3:0 - switch1:2',
      'host4:0 - switch1:3',
      'host5:0 - switch2:3',
    ]);
  });

  it('leads round a ring by port 0', () => {
    expect(joints(ring({ switches: 3, hostsPerSwitch: 1, link: LINK }))).toEqual([
      'switch0:0 - switch1:1',
      'switch1:0 - switch2:1',
      'switch2:0 - switch0:1',
      'host0:0 - switch0:2',
      'host1:0 - switch1:2',
      'host2:0 - switch2:2',
    ]);
  });

  it('takes a network of named nodes, with ports where they are said', () => {
    const topology = custom({
      hosts: ['a', 'b'],
      switches: ['s', 't'],
      links: [
        { a: 's', b: 'a', ...LINK },
        { a: 's', aPort: 7, b: 't', ...SLOW },
        { a: 'b', b: 't', ...LINK },
      ],
    });
    expect(joints(topology)).toEqual(['s:0 - a:0', 's:7 - t:0', 'b:0 - t:1']);
    expect(topology).toMatchObject({ kind: 'custom', hostCount: 2, switchCount: 2 });
  });

  it('builds from plain data what the functions build', () => {
    const specs: TopologySpec[] = [
      { kind: 'dumbbell', pairs: 2, edge: LINK, bottleneck: SLOW },
      { kind: 'star', hosts: 4, link: LINK },
      { kind: 'leaf-spine', leaves: 2, spines: 2, hostsPerLeaf: 2, hostLink: LINK, uplink: LINK },
      { kind: 'fat-tree', k: 4, link: LINK },
      { kind: 'parking-lot', hops: 3, edge: LINK, bottleneck: SLOW },
      { kind: 'ring', switches: 3, hostsPerSwitch: 2, link: LINK },
      { kind: 'custom', hosts: ['a', 'b'], switches: [], links: [{ a: 'a', b: 'b', ...LINK }] },
    ];
    for (const spec of specs) {
      const topology = buildTopology(JSON.parse(JSON.stringify(spec)));
      expect(topology.kind).toBe(spec.kind);
      expect(JSON.parse(JSON.stringify(topology))).toEqual(topology);
      expect(() => checkTopology(topology)).not.toThrow();
    }
  });

  it('names every node and gives every port to one link at most, whatever the size', () => {
    const size = fc.integer({ min: 1, max: 6 });
    fc.assert(
      fc.property(size, size, size, (leaves, spines, hostsPerLeaf) => {
        fc.pre(leaves * hostsPerLeaf >= 2);
        const topology = leafSpine({ leaves, spines, hostsPerLeaf, hostLink: LINK, uplink: LINK });
        expect(topology.edges).toHaveLength(leaves * hostsPerLeaf + leaves * spines);
        const ends = topology.edges.flatMap(({ a, aPort, b, bPort }) => [`${a}:${aPort}`, `${b}:${bPort}`]);
        expect(new Set(ends).size).toBe(ends.length);
      }),
    );
  });
});

describe('impossible topologies', () => {
  const refused: readonly (readonly [string, () => unknown, string])[] = [
    ['an odd k', () => fatTree({ k: 3, link: LINK }), 'k is 3: a fat tree has switches with an even number of ports'],
    ['a k of zero', () => fatTree({ k: 0, link: LINK }), 'k is 0: it is a whole number from 2'],
    ['a broken count', () => star({ hosts: 2.5, link: LINK }), 'hosts is 2.5: it is a whole number from 2'],
    ['one host', () => star({ hosts: 1, link: LINK }), 'hosts is 1: it is a whole number from 2'],
    [
      'too small a ring',
      () => ring({ switches: 2, hostsPerSwitch: 1, link: LINK }),
      'switches is 2: it is a whole number from 3',
    ],
    ['a rate of zero', () => star({ hosts: 2, link: { rateBps: 0, delayNs: 1 } }), 'link.rateBps is 0: it is over 0'],
    ['an endless rate', () => star({ hosts: 2, link: { rateBps: Infinity, delayNs: 1 } }), 'link.rateBps is Infinity'],
    [
      'a negative delay',
      () => dumbbell({ pairs: 1, edge: LINK, bottleneck: { rateBps: 1e9, delayNs: -1 } }),
      'bottleneck.delayNs is -1: it is a whole number from 0',
    ],
    [
      'more switches than there are routes for',
      () => leafSpine({ leaves: 2, spines: 1e9, hostsPerLeaf: 1, hostLink: LINK, uplink: LINK }),
      'more than 16384 switches',
    ],
    [
      'leaves without a spine',
      () => leafSpine({ leaves: 2, spines: 0, hostsPerLeaf: 1, hostLink: LINK, uplink: LINK }),
      'spines is 0: it is a whole number from 1',
    ],
    [
      'parts that are not joined',
      () =>
        custom({
          hosts: ['a', 'b', 'c', 'd'],
          switches: [],
          links: [
            { a: 'a', b: 'b', ...LINK },
            { a: 'c', b: 'd', ...LINK },
          ],
        }),
      'c cannot be reached from a',
    ],
    [
      'a port used twice',
      () =>
        custom({
          hosts: ['a', 'b'],
          switches: ['s'],
          links: [
            { a: 'a', b: 's', bPort: 1, ...LINK },
            { a: 'b', b: 's', bPort: 1, ...LINK },
          ],
        }),
      'edges[1]: port 1 of s is used twice',
    ],
    [
      'a host with two links',
      () =>
        custom({
          hosts: ['a', 'b'],
          switches: ['s'],
          links: [
            { a: 'a', b: 's', ...LINK },
            { a: 'b', b: 's', ...LINK },
            { a: 'a', b: 'b', ...LINK },
          ],
        }),
      'edges[2]: a is a host, which has port 0 and no port 1',
    ],
    ['a host without a link', () => custom({ hosts: ['a', 'b'], switches: [], links: [] }), 'a has no link'],
    [
      'an unknown node',
      () => custom({ hosts: ['a', 'b'], switches: [], links: [{ a: 'a', b: 'x', ...LINK }] }),
      'links[0].b: there is no node "x"',
    ],
    [
      'a link to itself',
      () => custom({ hosts: ['a', 'b'], switches: ['s'], links: [{ a: 's', b: 's', bPort: 1, ...LINK }] }),
      'edges[0]: joins s to itself',
    ],
    [
      'a name twice',
      () => custom({ hosts: ['a', 'a'], switches: [], links: [{ a: 'a', b: 'a', ...LINK }] }),
      'nodeNames has a name twice',
    ],
    ['an unknown kind', () => buildTopology(JSON.parse('{"kind":"torus"}')), 'there is no topology "torus"'],
    [
      'a node that is not there',
      () => checkTopology({ ...star({ hosts: 2, link: LINK }), edges: [{ a: 0, aPort: 0, b: 9, bPort: 0, ...LINK }] }),
      'edges[0]: there is no node 9',
    ],
    [
      'too few names',
      () => checkTopology({ ...star({ hosts: 2, link: LINK }), nodeNames: ['a'] }),
      'nodeNames has 1 names for 3 nodes',
    ],
  ];
  for (const [what, make, why] of refused) {
    it(`refuses ${what}`, () => {
      expect(make).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT', message: expect.stringContaining(why) }),
      );
    });
  }
});
