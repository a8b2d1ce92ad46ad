/**
 * The topologies that the literature measures on, as functions of a few numbers; `buildTopology` takes them as plain
 * data. Owns the port numbers of every link, which each builder documents, so that a queue can be named beforehand.
 * Sources of the shapes: Al-Fares et al., "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008 (fat
 * tree).
 */
import {
  checkLink,
  checkTopology,
  demand,
  type LinkSpec,
  MAX_SWITCHES,
  type Topology,
  type TopologyEdge,
} from './topology.ts';

/** Selects the builder of the other fields. */
export interface OfKind<K extends string> {
  /** Name of the builder. */
  readonly kind: K;
}

/** A topology of plain data, by kind. */
export type TopologySpec =
  | (OfKind<'dumbbell'> & DumbbellOptions)
  | (OfKind<'star'> & StarOptions)
  | (OfKind<'leaf-spine'> & LeafSpineOptions)
  | (OfKind<'fat-tree'> & FatTreeOptions)
  | (OfKind<'parking-lot'> & ParkingLotOptions)
  | (OfKind<'ring'> & RingOptions)
  | (OfKind<'custom'> & CustomOptions);

/** The topology that the data describes. @throws RoceError ERR_ROCE_ARGUMENT naming the invalid field */
export function buildTopology(spec: TopologySpec): Topology {
  switch (spec.kind) {
    case 'dumbbell':
      return dumbbell(spec);
    case 'star':
      return star(spec);
    case 'leaf-spine':
      return leafSpine(spec);
    case 'fat-tree':
      return fatTree(spec);
    case 'parking-lot':
      return parkingLot(spec);
    case 'ring':
      return ring(spec);
    case 'custom':
      return custom(spec);
    default:
      return unknownKind(spec);
  }
}

function unknownKind(spec: never): never {
  const { kind } = spec as { readonly kind: unknown };
  demand(false, `there is no topology ${JSON.stringify(kind)}`);
}

/** Two switches and one link between them. */
export interface DumbbellOptions {
  /** Hosts on each side. */
  readonly pairs: number;
  /** Host to switch. */
  readonly edge: LinkSpec;
  /** Switch to switch. */
  readonly bottleneck: LinkSpec;
}

/**
 * Hosts 0 .. pairs - 1 at switch0, pairs .. 2 pairs - 1 at switch1, each at the port of its place. The bottleneck is at
 * port `pairs` of both: `switch0:<pairs>` is the queue of what goes from left to right. @throws RoceError
 * ERR_ROCE_ARGUMENT
 */
export function dumbbell({ pairs, edge, bottleneck }: DumbbellOptions): Topology {
  demandCount('pairs', pairs, 1);
  const wiring = new Wiring('dumbbell', 2 * pairs);
  const [left, right] = [wiring.addSwitch('switch0'), wiring.addSwitch('switch1')];
  for (let host = 0; host < 2 * pairs; host++) wiring.join(host, host < pairs ? left : right, edge, 'edge');
  wiring.join(left, right, bottleneck, 'bottleneck');
  return wiring.topology();
}

/** One switch. */
export interface StarOptions {
  /** Hosts, 2 or more. */
  readonly hosts: number;
  /** Host to switch. */
  readonly link: LinkSpec;
}

/** Host i at port i of switch0: `switch0:<i>` is the queue towards host i. @throws RoceError ERR_ROCE_ARGUMENT */
export function star({ hosts, link }: StarOptions): Topology {
  demandCount('hosts', hosts, 2);
  const wiring = new Wiring('star', hosts);
  const hub = wiring.addSwitch('switch0');
  for (let host = 0; host < hosts; host++) wiring.join(host, hub, link, 'link');
  return wiring.topology();
}

/** Two layers, every leaf joined with every spine. */
export interface LeafSpineOptions {
  /** Switches with hosts. */
  readonly leaves: number;
  /** Switches without. */
  readonly spines: number;
  /** Hosts at each leaf. */
  readonly hostsPerLeaf: number;
  /** Host to leaf. */
  readonly hostLink: LinkSpec;
  /** Leaf to spine. */
  readonly uplink: LinkSpec;
}

/**
 * Host i at leaf floor(i / hostsPerLeaf), port i % hostsPerLeaf; port hostsPerLeaf + s of a leaf goes to spine s, port
 * l of a spine to leaf l. Switches are called leaf0 .. and spine0 ... @throws RoceError ERR_ROCE_ARGUMENT
 */
export function leafSpine({ leaves, spines, hostsPerLeaf, hostLink, uplink }: LeafSpineOptions): Topology {
  demandCount('leaves', leaves, 1);
  demandCount('spines', spines, leaves > 1 ? 1 : 0);
  demandCount('hostsPerLeaf', hostsPerLeaf, 1);
  const wiring = new Wiring('leaf-spine', leaves * hostsPerLeaf);
  const lower = times(leaves, (leaf) => wiring.addSwitch(`leaf${leaf}`));
  const upper = times(spines, (spine) => wiring.addSwitch(`spine${spine}`));
  for (const [leaf, node] of lower.entries()) {
    for (let host = 0; host < hostsPerLeaf; host++) wiring.join(leaf * hostsPerLeaf + host, node, hostLink, 'hostLink');
    for (const spine of upper) wiring.join(node, spine, uplink, 'uplink');
  }
  return wiring.topology();
}

/** Three layers of switches with k ports each. */
export interface FatTreeOptions {
  /** Ports of every switch, even, 2 or more: k^3 / 4 hosts. */
  readonly k: number;
  /** Every link. */
  readonly link: LinkSpec;
  /** Between switches; default `link`. */
  readonly fabricLink?: LinkSpec;
}

/**
 * k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores: edge0 .., aggregation0 .., core0 .., counted over all
 * pods. Host i is at port i % (k/2) of edge floor(i / (k/2)); ports k/2 .. k - 1 of edge and aggregation switches lead
 * up, port p of a core to pod p. Aggregation switch j of a pod is joined with cores j k/2 .. (j + 1) k/2 - 1. @throws
 * RoceError ERR_ROCE_ARGUMENT
 */
export function fatTree({ k, link, fabricLink = link }: FatTreeOptions): Topology {
  demandCount('k', k, 2);
  demand(k % 2 === 0, `k is ${k}: a fat tree has switches with an even number of ports`);
  const half = k / 2;
  const wiring = new Wiring('fat-tree', (k * k * k) / 4);
  const edges = times(k * half, (index) => wiring.addSwitch(`edge${index}`));
  const aggregations = times(k * half, (index) => wiring.addSwitch(`aggregation${index}`));
  const cores = times(half * half, (index) => wiring.addSwitch(`core${index}`));
  for (const [index, edge] of edges.entries())
    for (let host = 0; host < half; host++) wiring.join(index * half + host, edge, link, 'link');
  for (let pod = 0; pod < k; pod++) {
    const podAggregations = aggregations.slice(pod * half, (pod + 1) * half);
    for (const edge of edges.slice(pod * half, (pod + 1) * half))
      for (const aggregation of podAggregations) wiring.join(edge, aggregation, fabricLink, 'fabricLink');
    for (const [place, aggregation] of podAggregations.entries())
      for (const core of cores.slice(place * half, (place + 1) * half))
        wiring.join(aggregation, core, fabricLink, 'fabricLink');
  }
  return wiring.topology();
}

/** A chain of switches. */
export interface ParkingLotOptions {
  /** Links between switches, 1 or more. */
  readonly hops: number;
  /** Host to switch. */
  readonly edge: LinkSpec;
  /** Switch to switch. */
  readonly bottleneck: LinkSpec;
}

/**
 * `switch0` .. `switch<hops>` in a chain. Host 0 is at the first and host 1 at the last: the flow between them passes
 * every bottleneck. Host 2 + 2h is at switch h and host 3 + 2h at switch h + 1: theirs passes bottleneck h alone.
 * Port 0 of every switch leads on and port 1 back, hosts are at ports 2 .. in their order: `switch<h>:0` is the
 * queue of bottleneck h.
 * @throws RoceError ERR_ROCE_ARGUMENT
 */
export function parkingLot({ hops, edge, bottleneck }: ParkingLotOptions): Topology {
  demandCount('hops', hops, 1);
  const wiring = new Wiring('parking-lot', 2 + 2 * hops);
  const chain = times(hops + 1, (index) => wiring.addSwitch(`switch${index}`));
  const joinHost = (host: number, place: number): void => {
    const node = chain[place] ?? 0;
    wiring.joinAt(host, 0, node, wiring.freePort(node, 2), edge, 'edge');
  };
  for (let hop = 0; hop < hops; hop++)
    wiring.joinAt(chain[hop] ?? 0, 0, chain[hop + 1] ?? 0, 1, bottleneck, 'bottleneck');
  joinHost(0, 0);
  joinHost(1, hops);
  for (let hop = 0; hop < hops; hop++) {
    joinHost(2 + 2 * hop, hop);
    joinHost(3 + 2 * hop, hop + 1);
  }
  return wiring.topology();
}

/** Switches in a circle. */
export interface RingOptions {
  /** 3 or more. */
  readonly switches: number;
  /** Hosts at each. */
  readonly hostsPerSwitch: number;
  /** Every link. */
  readonly link: LinkSpec;
}

/**
 * Host i is at switch floor(i / hostsPerSwitch). Port 0 of every switch leads to the next one round, port 1 back, ports
 * 2 .. to its hosts. With `clockwiseRoutes` buffers wait for each other in a cycle: the textbook deadlock of PFC.
 * @throws RoceError ERR_ROCE_ARGUMENT
 */
export function ring({ switches, hostsPerSwitch, link }: RingOptions): Topology {
  demandCount('switches', switches, 3);
  demandCount('hostsPerSwitch', hostsPerSwitch, 1);
  const wiring = new Wiring('ring', switches * hostsPerSwitch);
  const circle = times(switches, (index) => wiring.addSwitch(`switch${index}`));
  for (const [index, node] of circle.entries())
    wiring.joinAt(node, 0, circle[(index + 1) % switches] ?? node, 1, link, 'link');
  for (let host = 0; host < switches * hostsPerSwitch; host++)
    wiring.join(host, circle[Math.floor(host / hostsPerSwitch)] ?? 0, link, 'link');
  return wiring.topology();
}

/** A network given node by node. */
export interface CustomOptions {
  /** Names of hosts; hosts are numbered in this order. */
  readonly hosts: readonly string[];
  /** Names of switches. */
  readonly switches: readonly string[];
  /** A switch's ports are numbered in the order in which links name it, unless they say a port. */
  readonly links: readonly CustomLink[];
}

/** A link between two named nodes. */
export interface CustomLink extends LinkSpec {
  /** Name of one end. */
  readonly a: string;
  /** Its port; default the lowest that is free. */
  readonly aPort?: number;
  /** Name of the other end. */
  readonly b: string;
  /** Its port; default the lowest that is free. */
  readonly bPort?: number;
}

/** Hosts, switches and links as named. @throws RoceError ERR_ROCE_ARGUMENT as `checkTopology` */
export function custom({ hosts, switches, links }: CustomOptions): Topology {
  const wiring = new Wiring('custom', hosts.length, hosts);
  for (const name of switches) wiring.addSwitch(name);
  const numbers = new Map([...hosts, ...switches].map((name, node) => [name, node]));
  for (const [index, link] of links.entries()) {
    const [a, b] = [numbers.get(link.a), numbers.get(link.b)];
    demand(a !== undefined, `links[${index}].a: there is no node ${JSON.stringify(link.a)}`);
    demand(b !== undefined, `links[${index}].b: there is no node ${JSON.stringify(link.b)}`);
    wiring.joinAt(a, link.aPort ?? wiring.freePort(a), b, link.bPort ?? wiring.freePort(b), link, `links[${index}]`);
  }
  return wiring.topology();
}

/** Nodes and links as they are added; ports are given out in order. */
class Wiring {
  readonly #kind: string;
  readonly #hostCount: number;
  readonly #names: string[];
  readonly #edges: TopologyEdge[] = [];
  readonly #used: Set<number>[];
  /** By node: all ports below are taken, so that a switch of thousands is not searched from the start. */
  readonly #taken: number[] = [];

  constructor(kind: string, hostCount: number, names?: readonly string[]) {
    demand(hostCount <= 1 << 20, `${hostCount} hosts, and at most ${1 << 20} are possible`);
    this.#kind = kind;
    this.#hostCount = hostCount;
    this.#names = [...(names ?? times(hostCount, (host) => `host${host}`))];
    this.#used = this.#names.map(() => new Set());
  }

  addSwitch(name: string): number {
    demand(this.#names.length - this.#hostCount < MAX_SWITCHES, `more than ${MAX_SWITCHES} switches find no routes`);
    this.#used.push(new Set());
    return this.#names.push(name) - 1;
  }

  /** The lowest free port from `from` on. */
  freePort(node: number, from = 0): number {
    const used = this.#used[node] ?? new Set();
    let port = Math.max(from, this.#taken[node] ?? 0);
    while (used.has(port)) port++;
    if (from === 0) this.#taken[node] = port;
    return port;
  }

  join(a: number, b: number, link: LinkSpec, where: string): void {
    this.joinAt(a, this.freePort(a), b, this.freePort(b), link, where);
  }

  joinAt(a: number, aPort: number, b: number, bPort: number, link: LinkSpec, where: string): void {
    checkLink(link, where);
    this.#used[a]?.add(aPort);
    this.#used[b]?.add(bPort);
    this.#edges.push({ a, aPort, b, bPort, rateBps: link.rateBps, delayNs: link.delayNs });
  }

  topology(): Topology {
    return checkTopology({
      kind: this.#kind,
      hostCount: this.#hostCount,
      switchCount: this.#names.length - this.#hostCount,
      nodeNames: this.#names,
      edges: this.#edges,
    });
  }
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function demandCount(name: string, value: number, min: number): void {
  demand(Number.isSafeInteger(value) && value >= min, `${name} is ${value}: it is a whole number from ${min}`);
}
