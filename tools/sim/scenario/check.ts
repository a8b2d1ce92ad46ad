/**
 * What the shape of a scenario cannot say: that its network is possible, that flows have hosts, queues a port,
 * parameters of DCQCN their ranges, expectations a variant. Owns these rules; builds nothing that is kept.
 */
import { RoceError } from 'rocev2/packets';
import { buildTopology, Prng, portName, type Topology } from 'rocev2/sim';
import { makeController } from 'rocev2/transport';
import type { Selection } from './expect.ts';
import type { Issue } from './issues.ts';
import type { SimScenario, Variant } from './schema.ts';
import { flowsOf, type TrafficGroup } from './traffic.ts';

/** A variant by name; `variants` of a scenario that compares nothing is one, whose name is the scenario's. */
export interface NamedVariant {
  readonly name: string;
  readonly variant: Variant;
}

/** Everything of one variant but what it shares with the others. */
export function checkVariant(variant: Variant): Issue[] {
  const topology = built(variant);
  if (!('edges' in topology)) return [topology];
  const issues: Issue[] = [];
  if (variant.clockwise && variant.topology.kind !== 'ring')
    issues.push({ path: ['clockwise'], message: `a ${variant.topology.kind} has no way round: it is for rings` });
  variant.traffic.forEach((spec, index) => {
    issues.push(...checkTraffic(variant, spec, ['traffic', index], topology));
  });
  const ports = portNames(topology);
  variant.probe?.queues?.forEach((queue, index) => {
    if (!ports.has(queue))
      issues.push({ path: ['probe', 'queues', index], message: `there is no port ${queue} ${somePorts(ports)}` });
  });
  return [...issues, ...checkReaction(variant, topology)];
}

function built({ topology }: Variant): Topology | Issue {
  try {
    return buildTopology(topology);
  } catch (error) {
    return issueFrom(error, ['topology']);
  }
}

/** The reason is the refuser's own. @throws what is no refusal */
function issueFrom(error: unknown, path: readonly PropertyKey[]): Issue {
  if (!(error instanceof RoceError)) throw error;
  return { path, message: error.message };
}

function checkTraffic(variant: Variant, spec: TrafficGroup, path: readonly PropertyKey[], topology: Topology): Issue[] {
  const { hostCount } = topology;
  try {
    const flows = flowsOf(spec, new Prng(variant.seed));
    for (const { flow } of flows) {
      for (const host of [flow.src, flow.dst])
        if (host >= hostCount) return [{ path, message: `there is no host ${host}: hosts are 0 to ${hostCount - 1}` }];
      if (flow.src === flow.dst) return [{ path, message: `host ${flow.src} sends to itself` }];
      if (flow.bytes === Infinity && variant.stopNs === undefined)
        return [{ path, message: 'endless flows need a stopNs' }];
    }
    if (flows.length > MAX_FLOWS) return [{ path, message: `${flows.length} flows are more than ${MAX_FLOWS}` }];
    return flows.length === 0 ? [{ path, message: 'no flow comes of this' }] : [];
  } catch (error) {
    return [issueFrom(error, path)];
  }
}

/** A controller is made for the slowest port: its refusal gives the reason. */
function checkReaction({ congestion }: Variant, topology: Topology): Issue[] {
  if (congestion === undefined) return [];
  const slowest = topology.edges.reduce((least, { rateBps }) => Math.min(least, rateBps), Infinity);
  try {
    makeController(congestion.reaction, slowest);
    return [];
  } catch (error) {
    return [issueFrom(error, ['congestion', 'reaction'])];
  }
}

/** Names that expectations and the fluid model use. */
export function checkNames(scenario: SimScenario, variants: readonly NamedVariant[]): Issue[] {
  const issues: Issue[] = [];
  const names = variants.map(({ name }) => name);
  const need = (
    path: readonly PropertyKey[],
    what: string,
    name: string | undefined,
    known: Iterable<string>,
  ): void => {
    const all = [...known];
    if (name !== undefined && !all.includes(name))
      issues.push({ path, message: `there is no ${what} ${name}; there is ${all.slice(0, 12).join(', ') || 'none'}` });
  };
  scenario.fluid?.variants?.forEach((name, index) => {
    need(['fluid', 'variants', index], 'variant', name, names);
  });
  const groups = new Set(variants.flatMap(({ variant }) => variant.traffic.map((spec) => spec.group ?? spec.pattern)));
  const ports = new Set(variants.flatMap(({ variant }) => [...portNames(buildTopology(variant.topology))]));
  const check = (path: readonly PropertyKey[], { variant, group, queue }: Selection): void => {
    need([...path, 'variant'], 'variant', variant, names);
    need([...path, 'group'], 'group', group, groups);
    need([...path, 'queue'], 'port', queue, ports);
  };
  scenario.expect.forEach((expectation, index) => {
    check(['expect', index], expectation);
    const { value } = expectation;
    if (typeof value === 'object' && !('fluid' in value)) check(['expect', index, 'value'], value);
    if (typeof value === 'object' && 'fluid' in value && variants.every(({ variant }) => variant.fluid === undefined))
      issues.push({ path: ['expect', index, 'value', 'fluid'], message: 'the scenario has no fluid model' });
  });
  return issues;
}

/** Every egress port of a network. */
export function portNames(topology: Topology): Set<string> {
  return new Set(
    topology.edges.flatMap(({ a, aPort, b, bPort }) => [portName(topology, a, aPort), portName(topology, b, bPort)]),
  );
}

function somePorts(ports: ReadonlySet<string>): string {
  const switches = [...ports].filter((port) => !port.startsWith('host'));
  return `(there is ${switches.slice(0, 4).join(', ')} ...)`;
}

const MAX_FLOWS = 1_000_000;
