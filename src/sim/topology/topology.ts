/**
 * The shape of a network: hosts, switches and the links between them, as plain data that goes through JSON. Owns the
 * types, the names of nodes and ports, and the check that a topology is possible. Has no traffic and no queues. Nodes
 * are numbered: 0 .. hostCount - 1 are hosts, which have port 0 and no other; then come the switches.
 */
import { RoceError } from '../../../packets/errors.ts';

/** A link: both directions have the same rate and delay. */
export interface TopologyEdge {
  /** One node. */
  readonly a: number;
  /** Its port, from 0. */
  readonly aPort: number;
  /** The other node. */
  readonly b: number;
  /** Its port, from 0. */
  readonly bPort: number;
  /** Bits a second each way, over 0. */
  readonly rateBps: number;
  /** Nanoseconds that a bit is under way, a whole number from 0. */
  readonly delayNs: number;
}

/** Hosts, switches and links. */
export interface Topology {
  /** 'star', 'fat-tree' ...: what built it. */
  readonly kind: string;
  /** Hosts: nodes 0 .. hostCount - 1. */
  readonly hostCount: number;
  /** Switches: the nodes after the hosts. */
  readonly switchCount: number;
  /** By node, no two alike: 'host0', 'switch0', 'leaf1' ... */
  readonly nodeNames: readonly string[];
  /** Links; a port is the end of one at most. */
  readonly edges: readonly TopologyEdge[];
}

/** Rate and delay of a link. */
export interface LinkSpec {
  /** Bits a second each way, over 0. */
  readonly rateBps: number;
  /** Nanoseconds, a whole number from 0. */
  readonly delayNs: number;
}

/** What a queue at a port is called wherever it is named: 'switch0:3', 'host2:0'. */
export function portName(topology: Topology, node: number, port: number): string {
  return `${topology.nodeNames[node]}:${port}`;
}

/** Ports of every node, by node: one more than the highest that a link ends at. */
export function portCounts(topology: Topology): number[] {
  const counts = new Array<number>(topology.hostCount + topology.switchCount).fill(0);
  for (const { a, aPort, b, bPort } of topology.edges) {
    counts[a] = Math.max(counts[a] ?? 0, aPort + 1);
    counts[b] = Math.max(counts[b] ?? 0, bPort + 1);
  }
  return counts;
}

/**
 * Hands a topology back when it is one.
 *
 * @throws RoceError ERR_ROCE_ARGUMENT naming the error: no hosts, a name twice, a link to a node that is not there or
 * to itself, a port used twice, a rate that is not over 0, a negative delay, a host with two links or none, parts that
 * are not joined
 */
export function checkTopology(topology: Topology): Topology {
  const { hostCount, switchCount, nodeNames, edges } = topology;
  demand(isCount(hostCount) && hostCount >= 2, `hostCount is ${hostCount}: a network has 2 hosts or more`);
  demand(hostCount <= MAX_HOSTS, `hostCount is ${hostCount}: addresses are there for ${MAX_HOSTS} hosts`);
  demand(isCount(switchCount), `switchCount is ${switchCount}: it is a whole number from 0`);
  demand(switchCount <= MAX_SWITCHES, `switchCount is ${switchCount}: there is room for routes of ${MAX_SWITCHES}`);
  const nodes = hostCount + switchCount;
  demand(nodeNames.length === nodes, `nodeNames has ${nodeNames.length} names for ${nodes} nodes`);
  demand(new Set(nodeNames).size === nodes, `nodeNames has a name twice`);
  const used = new Set<string>();
  edges.forEach((edge, index) => {
    checkEdge(topology, edge, `edges[${index}]`, used);
  });
  for (let host = 0; host < hostCount; host++)
    demand(used.has(`${host}:0`), `${nodeNames[host]} has no link: a host's is at port 0`);
  const cut = unreachable(topology);
  demand(cut === undefined, `${nodeNames[cut ?? 0]} cannot be reached from ${nodeNames[0]}: the network is in parts`);
  return topology;
}

function checkEdge(topology: Topology, edge: TopologyEdge, where: string, used: Set<string>): void {
  const { hostCount, switchCount, nodeNames } = topology;
  for (const [node, port] of [
    [edge.a, edge.aPort],
    [edge.b, edge.bPort],
  ] as const) {
    demand(isCount(node) && node < hostCount + switchCount, `${where}: there is no node ${node}`);
    const name = nodeNames[node];
    demand(isCount(port) && port < MAX_PORTS, `${where}: ${port} is no port of ${name}`);
    demand(node >= hostCount || port === 0, `${where}: ${name} is a host, which has port 0 and no port ${port}`);
    demand(!used.has(`${node}:${port}`), `${where}: port ${port} of ${name} is used twice`);
    used.add(`${node}:${port}`);
  }
  demand(edge.a !== edge.b, `${where}: joins ${nodeNames[edge.a]} to itself`);
  checkLink(edge, where);
}

/** @throws RoceError ERR_ROCE_ARGUMENT for a rate or delay that no link has, naming it as field of `where` */
export function checkLink({ rateBps, delayNs }: LinkSpec, where: string): void {
  demand(rateBps > 0 && rateBps < Infinity, `${where}.rateBps is ${rateBps}: it is over 0`);
  demand(isCount(delayNs), `${where}.delayNs is ${delayNs}: it is a whole number from 0`);
}

/** A node that no chain of links joins with node 0. */
function unreachable({ hostCount, switchCount, edges }: Topology): number | undefined {
  const beside: number[][] = Array.from({ length: hostCount + switchCount }, () => []);
  for (const { a, b } of edges) {
    beside[a]?.push(b);
    beside[b]?.push(a);
  }
  const seen = new Uint8Array(beside.length);
  const queue = [0];
  seen[0] = 1;
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (const next of beside[node] ?? []) {
      if (seen[next] === 1) continue;
      seen[next] = 1;
      queue.push(next);
    }
  }
  const cut = seen.indexOf(0);
  return cut < 0 ? undefined : cut;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** @throws RoceError ERR_ROCE_ARGUMENT unless `holds` */
export function demand(holds: boolean, why: string): asserts holds {
  if (!holds) throw new RoceError('ERR_ROCE_ARGUMENT', why);
}

/** So many have an address of their own in 10.0.0.0/8, whose last addresses stay free. */
const MAX_HOSTS = 0xff_00_00;
/** Routes have a number for each pair of them: 1 GiB. */
export const MAX_SWITCHES = 16_384;
/** Egress ports are numbered with 16 bits. */
const MAX_PORTS = 0x1_00_00;
