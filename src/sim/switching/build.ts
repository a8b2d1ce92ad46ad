/**
 * Makes the parts of a switched network from its topology: two ports for each link, switches with their memory, and the
 * deadlock watch. Owns their wiring. Moves nothing.
 */

import { defined } from '../../../packets/defined.ts';
import type { Prng } from '../../ground/prng.ts';
import { creditBlocks, LinkCredits, PauseState, SharedBuffer } from '../buffer/index.ts';
import { portName, type Routes, type TopologyEdge } from '../topology/index.ts';
import { CreditReturns } from './credits.ts';
import { DeadlockWatch } from './deadlock-watch.ts';
import { EgressPort } from './egress-port.ts';
import {
  bufferBytesOf,
  CUT_THROUGH_BYTES,
  creditBytesOf,
  headroomOf,
  type NetworkSettings,
  PRIORITIES,
  pfcShiftOf,
} from './options.ts';
import { Pauses } from './pauses.ts';
import { PortTable } from './port-table.ts';
import { SwitchNode } from './switch-node.ts';
import type { Transmitter } from './transmitter.ts';

/** What a network consists of. */
export interface NetworkParts {
  /** By index: hosts' first, then by node and port. */
  readonly ports: readonly EgressPort[];
  /** By host. */
  readonly hostPorts: readonly EgressPort[];
  readonly switches: readonly SwitchNode[];
  readonly pauses: Pauses;
  readonly credits: CreditReturns;
  readonly watch: DeadlockWatch;
}

/** One end of a link. */
interface LinkEnd {
  readonly node: number;
  readonly port: number;
  readonly edge: TopologyEdge;
}

/** Builds what `settings` describe. @throws RoceError ERR_ROCE_ARGUMENT for memory that is too small */
export function buildNetwork(
  settings: NetworkSettings,
  routes: Routes,
  transmitter: Transmitter,
  random: Prng,
): NetworkParts {
  const ends = linkEnds(settings.topology.edges);
  const ports = makePorts(ends, settings, transmitter);
  const pauses = new Pauses(transmitter);
  const credits = new CreditReturns(transmitter, ports);
  const { hostCount, switchCount, nodeNames } = settings.topology;
  const switches: SwitchNode[] = [];
  for (let node = hostCount; node < hostCount + switchCount; node++) {
    const name = nodeNames[node] ?? '';
    const buffer = makeBuffer(
      ends.filter((end) => end.node === node),
      settings,
    );
    const shared = { settings, routes, transmitter, pauses, credits, allPorts: ports, buffer };
    switches.push(new SwitchNode({ ...shared, node, name, random: random.fork(name) }));
  }
  for (const port of ports) {
    const owner = switches[port.node - hostCount];
    if (owner === undefined) continue;
    owner.ports[port.port] = port;
    port.home = owner;
    port.reverse.far = owner;
  }
  const watch = new DeadlockWatch(transmitter, ports, settings.deadlockAfterNs);
  transmitter.onBlocked = (port) => watch.blocked(port);
  transmitter.onLost = (port, slot) => credits.freed(port, slot);
  return { ports, hostPorts: ports.filter(({ node }) => node < hostCount), switches, pauses, credits, watch };
}

/** Both ends of every link, by node and port. */
function linkEnds(edges: readonly TopologyEdge[]): LinkEnd[] {
  return edges
    .flatMap((edge) => [
      { node: edge.a, port: edge.aPort, edge },
      { node: edge.b, port: edge.bPort, edge },
    ])
    .sort((x, y) => x.node - y.node || x.port - y.port);
}

function makePorts(ends: readonly LinkEnd[], settings: NetworkSettings, transmitter: Transmitter): EgressPort[] {
  const { topology, flowControl, processingNs, cutThrough } = settings;
  const table = new PortTable(ends.length);
  const first = new Map<TopologyEdge, EgressPort>();
  return ends.map(({ node, port, edge }, index) => {
    const { rateBps, delayNs } = edge;
    const name = portName(topology, node, port);
    const made = new EgressPort({ index, node, port, name, rateBps, delayNs, clock: transmitter, table });
    const other = first.get(edge);
    if (other === undefined) first.set(edge, made);
    else {
      made.reverse = other;
      other.reverse = made;
    }
    const toSwitch = Math.max(edge.a, edge.b) >= topology.hostCount && farNode(edge, node) >= topology.hostCount;
    if (toSwitch) made.latencyNs += processingNs;
    if (toSwitch && cutThrough) made.forwardBytes = CUT_THROUGH_BYTES;
    if (flowControl === 'pfc') made.pauses = new PauseState(rateBps);
    if (flowControl === 'credits') made.credits = makeCredits(edge, settings);
    return made;
  });
}

function farNode({ a, b }: TopologyEdge, node: number): number {
  return a === node ? b : a;
}

function makeCredits(edge: TopologyEdge, settings: NetworkSettings): LinkCredits[] {
  const blocks = creditBlocks(creditBytesOf(edge, settings));
  return Array.from({ length: PRIORITIES }, () => new LinkCredits(blocks));
}

function makeBuffer(ends: readonly LinkEnd[], settings: NetworkSettings): SharedBuffer | undefined {
  if (settings.flowControl === 'credits' || ends.length === 0) return undefined;
  const ports = Math.max(...ends.map(({ port }) => port)) + 1;
  const headroomBytes = new Array<number>(ports).fill(0);
  const pfcShift = new Array<number>(ports).fill(0);
  for (const { port, edge } of ends) {
    headroomBytes[port] = headroomOf(edge, settings);
    pfcShift[port] = pfcShiftOf(edge, settings);
  }
  const { losslessPriorities, switches } = settings;
  const edges = ends.map(({ edge }) => edge);
  const reserved = reservedBytes(ports, headroomBytes, losslessPriorities);
  return new SharedBuffer({
    bytes: bufferBytesOf(edges, reserved, settings),
    ports,
    losslessPriorities,
    headroomBytes,
    pfcShift,
    reserveBytes: RESERVE_BYTES,
    ...defined({ staticXoffBytes: switches.staticXoffBytes, lossyAlpha: switches.lossyAlpha }),
  });
}

function reservedBytes(ports: number, headroomBytes: readonly number[], losslessPriorities: number): number {
  const perPriority = headroomBytes.reduce((sum, bytes) => sum + bytes, ports * RESERVE_BYTES);
  let reserved = 0;
  for (let bits = losslessPriorities; bits !== 0; bits &= bits - 1) reserved += perPriority;
  return reserved;
}

/** Of each port and lossless priority (ref:dcqcn#4). */
const RESERVE_BYTES = 4096;
