/**
 * Routes through a network: which ports of a switch lead to a host by a shortest path, and the links of a path. Owns
 * the tables, small enough for thousands of hosts: one number per pair of switches, since hosts at one switch share the
 * routes to it, and each set of ports once. Never chooses between equal routes: the switch does (`ecmp.ts`).
 */
import { invariant } from '../../../packets/errors.ts';
import { demand, portCounts, type Topology, type TopologyEdge } from './topology.ts';

/**
 * The next ports of every switch for a host. Made by `shortestPaths` or `clockwiseRoutes`.
 *
 * @example
 * ```ts
 * import { leafSpine, type Routes, shortestPaths } from 'rocev2/sim';
 *
 * const link = { rateBps: 100e9, delayNs: 1_000 };
 * const topology = leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 2, hostLink: link, uplink: link });
 * const routes: Routes = shortestPaths(topology);
 * const leaf = routes.attachedTo(0);
 * // A neighbour at the same leaf, and a host that both spines lead to.
 * console.log(topology.nodeNames[leaf], Array.from(routes.ports(leaf, 1)).join()); // leaf0 1
 * console.log(Array.from(routes.ports(leaf, 3)).join()); // 2,3
 * ```
 */
export class Routes {
  readonly #hostCount: number;
  readonly #switchCount: number;
  /** By host: the node at the other end of its link, and its port there. */
  readonly #attachedTo: Int32Array;
  readonly #hostPorts: readonly Uint16Array[];
  /** By switch and switch attached to: an index of `#sets`. */
  readonly #table: Uint32Array;
  readonly #sets: readonly Uint16Array[];

  /** @internal */
  constructor(topology: Topology, nextPorts: NextPorts) {
    this.#hostCount = topology.hostCount;
    this.#switchCount = topology.switchCount;
    this.#attachedTo = new Int32Array(topology.hostCount);
    const hostPorts: Uint16Array[] = [];
    for (const { a, aPort, b, bPort } of topology.edges) {
      if (a < topology.hostCount) {
        this.#attachedTo[a] = b;
        hostPorts[a] = Uint16Array.of(bPort);
      }
      if (b < topology.hostCount) {
        this.#attachedTo[b] = a;
        hostPorts[b] = Uint16Array.of(aPort);
      }
    }
    this.#hostPorts = hostPorts;
    this.#table = new Uint32Array(topology.switchCount ** 2);
    this.#sets = this.#fill(nextPorts);
  }

  /**
   * Ports of equal cost of switch `node` towards `host`, ascending and never empty; allocates nothing, so it may be
   * called per packet. Both are node numbers of the topology.
   */
  ports(node: number, host: number): ArrayLike<number> {
    const target = this.#attachedTo[host] as number;
    if (target === node) return this.#hostPorts[host] as Uint16Array;
    const row = (node - this.#hostCount) * this.#switchCount;
    return this.#sets[this.#table[row + target - this.#hostCount] as number] as Uint16Array;
  }

  /** The node that a host's link leads to. */
  attachedTo(host: number): number {
    return this.#attachedTo[host] ?? -1;
  }

  #fill(nextPorts: NextPorts): Uint16Array[] {
    const sets: Uint16Array[] = [new Uint16Array(0)];
    const known = new Map<string, number>();
    const targets = new Set(this.#attachedTo);
    for (const target of targets) {
      if (target < this.#hostCount) continue;
      const ports = nextPorts(target);
      for (let index = 0; index < this.#switchCount; index++) {
        const list = ports[index] ?? [];
        const key = list.join();
        let set = known.get(key);
        if (set === undefined) {
          set = sets.push(Uint16Array.from(list)) - 1;
          known.set(key, set);
        }
        this.#table[index * this.#switchCount + target - this.#hostCount] = set;
      }
    }
    return sets;
  }
}

/** By index of switch: its ports towards the switch `target`. */
type NextPorts = (target: number) => readonly (readonly number[])[];

/** Every way of the fewest links; a host is never passed through. */
export function shortestPaths(topology: Topology): Routes {
  const { hostCount, switchCount } = topology;
  const beside: { node: number; port: number }[][] = Array.from({ length: switchCount }, () => []);
  for (const { a, aPort, b, bPort } of topology.edges) {
    if (a < hostCount || b < hostCount) continue;
    beside[a - hostCount]?.push({ node: b - hostCount, port: aPort });
    beside[b - hostCount]?.push({ node: a - hostCount, port: bPort });
  }
  for (const list of beside) list.sort((x, y) => x.port - y.port);
  const distance = new Int32Array(switchCount);
  return new Routes(topology, (target) => {
    measure(beside, target - hostCount, distance);
    return beside.map((list, index) =>
      list.filter(({ node }) => distance[node] === (distance[index] ?? 0) - 1).map(({ port }) => port),
    );
  });
}

/** Links from every switch to `target`, breadth first. */
function measure(beside: readonly (readonly { node: number }[])[], target: number, distance: Int32Array): void {
  distance.fill(-1);
  distance[target] = 0;
  const queue = [target];
  for (let at = 0; at < queue.length; at++) {
    const from = queue[at] ?? 0;
    for (const { node } of beside[from] ?? []) {
      if (distance[node] !== -1) continue;
      distance[node] = (distance[from] ?? 0) + 1;
      queue.push(node);
    }
  }
}

/**
 * Clockwise only, whatever the distance: port 0 of every switch of a `ring`. Buffers then depend on each other in a
 * circle.
 * @throws RoceError ERR_ROCE_ARGUMENT for another topology
 */
export function clockwiseRoutes(topology: Topology): Routes {
  demand(topology.kind === 'ring', `a ${topology.kind} has no way round: clockwise routes are a ring's`);
  return new Routes(topology, (target) =>
    Array.from({ length: topology.switchCount }, (_, index) => (index === target - topology.hostCount ? [] : [0])),
  );
}

/**
 * The links from one host to another in order, the first of equal ones at every switch. Both are hosts, and not the
 * same.
 */
export function pathBetween(topology: Topology, routes: Routes, from: number, to: number): TopologyEdge[] {
  return new PathFinder(topology, routes).path(from, to);
}

/** One end of a link. */
export interface PortPlace {
  /** Node of the topology. */
  readonly node: number;
  /** Port of the node. */
  readonly port: number;
}

/**
 * `pathBetween` for many pairs: the links are looked up once.
 *
 * @example
 * ```ts
 * import { dumbbell, PathFinder, portName, shortestPaths } from 'rocev2/sim';
 *
 * const edge = { rateBps: 100e9, delayNs: 1_000 };
 * const topology = dumbbell({ pairs: 2, edge, bottleneck: { rateBps: 40e9, delayNs: 5_000 } });
 * const finder = new PathFinder(topology, shortestPaths(topology));
 * // From the first host on the left to the first on the right.
 * console.log(finder.path(0, 2).map(({ rateBps }) => rateBps / 1e9).join()); // 100,40,100
 * const { node, port } = finder.lastHop(2);
 * console.log(portName(topology, node, port)); // switch1:0
 * ```
 */
export class PathFinder {
  readonly #topology: Topology;
  readonly #routes: Routes;
  /** By node and port. */
  readonly #edgeAt: (TopologyEdge | undefined)[][];

  /** For a topology and routes of it. */
  constructor(topology: Topology, routes: Routes) {
    this.#topology = topology;
    this.#routes = routes;
    this.#edgeAt = portCounts(topology).map((count) => new Array<TopologyEdge | undefined>(count));
    for (const edge of topology.edges) {
      (this.#edgeAt[edge.a] ?? [])[edge.aPort] = edge;
      (this.#edgeAt[edge.b] ?? [])[edge.bPort] = edge;
    }
  }

  /** The links from `from` to `to` in order. */
  path(from: number, to: number): TopologyEdge[] {
    invariant(from !== to, 'a path joins two hosts');
    const edges: TopologyEdge[] = [];
    let node = from;
    let port = 0;
    while (node !== to) {
      const edge = this.#edgeAt[node]?.[port];
      invariant(edge !== undefined, 'a route leads along a link');
      invariant(edges.push(edge) <= this.#topology.nodeNames.length, 'a route ends');
      node = edge.a === node ? edge.b : edge.a;
      if (node !== to) port = this.#routes.ports(node, to)[0] ?? 0;
    }
    return edges;
  }

  /** The port of the last switch on the way to a host, or of the host at the other end where there is no switch. */
  lastHop(host: number): PortPlace {
    const edge = this.#edgeAt[host]?.[0];
    invariant(edge !== undefined, 'a host has a link');
    return edge.a === host ? { node: edge.b, port: edge.bPort } : { node: edge.a, port: edge.aPort };
  }
}
