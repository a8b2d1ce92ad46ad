/**
 * What the switched fabric costs: data packets simulated a second, and how that depends on the number of flows. The
 * real transport runs on every host, with real frames, ICRC made and verified, and an ACK for each packet.
 *
 * Peers' figures are measured elsewhere and only quoted: ref:dcqcn#6.2, two cores. The calibration loop stands in for
 * the machine; `fabric-ns3.ts` measures a peer in the same run.
 */
import { defined } from 'rocev2/packets';
import { EventQueue, type LinkSpec, type SwitchOptions, star } from 'rocev2/sim';
import type { CongestionOptions } from 'rocev2/transport';
import { type Bench, type BenchSettings, contest, scaled, secondsOf } from './bench.ts';
import { FabricRig } from './fabric-rig.ts';

/** The incast of 16 to 1 that the figures of ns-3 are for: 100 Gb/s, DCQCN with the rules of Mellanox. */
export const fabricIncastBench: Bench = {
  name: 'fabric-incast',
  title: 'fabric: data packets simulated a second, 16:1 incast of 10 MB each at 100 Gb/s, DCQCN and PFC',
  run: (settings) =>
    contest('fabric-incast', settings, {
      unit: 'packets/s',
      peer: 'wanted (ns-3 HPCC elsewhere: 57 k to 82 k)',
      goal: { sense: '>=', ratio: 1 },
      ours: () => incastPacketsPerSecond(settings),
      theirs: () => 450_000,
    }),
};

/** The same without congestion control, as htsim has it. */
export const fabricPausesBench: Bench = {
  name: 'fabric-pauses',
  title: 'fabric: the same with PFC alone',
  run: (settings) =>
    contest('fabric-pauses', settings, {
      unit: 'packets/s',
      peer: 'htsim elsewhere',
      goal: { sense: '>=', ratio: 1 },
      ours: () => packetsPerSecond(settings, SHALLOW),
      theirs: () => 300_000,
    }),
};

/** The same beside what the machine is worth, so that machines can be compared. */
export const fabricCalibrationBench: Bench = {
  name: 'fabric-calibration',
  title: 'fabric: the same beside the bare event queue',
  run: (settings) =>
    contest('fabric-calibration', settings, {
      unit: 'a second',
      peer: 'events of the bare event queue',
      ours: () => packetsPerSecond(settings, SHALLOW),
      theirs: () => eventsPerSecond(scaled(CALIBRATION_EVENTS, settings)),
    }),
};

/** As many bytes in many flows as in one (ref:platform#8, S2: 2.5 for ns-3). */
export const fabricFlowsBench: Bench = {
  name: 'fabric-flows',
  title: 'fabric: wall time for 160 MB over 256 flows and over one',
  run: (settings) =>
    contest('fabric-flows', settings, {
      unit: 's',
      peer: 'the same over 1 flow',
      goal: { sense: '<=', ratio: 1.15 },
      ours: () => secondsFor(MANY_FLOWS, settings),
      theirs: () => secondsFor(1, settings),
    }),
};

/** Data packets of the incast that are simulated in a second. */
export function incastPacketsPerSecond(settings: BenchSettings): number {
  return packetsPerSecond(settings, SWITCHES, MLX);
}

/** How many hosts send in the incast, and how many packets each. */
export function incastSize(settings: BenchSettings): { readonly senders: number; readonly packets: number } {
  return { senders: SENDERS, packets: Math.ceil(scaled(FLOW_BYTES, settings) / MTU) };
}

function packetsPerSecond(settings: BenchSettings, switches: SwitchOptions, congestion?: CongestionOptions): number {
  const bytes = scaled(FLOW_BYTES, settings);
  const rig = incast(SENDERS, bytes, switches, congestion);
  const seconds = secondsOf(() => rig.run());
  return (SENDERS * Math.ceil(bytes / MTU)) / seconds;
}

function secondsFor(flows: number, settings: BenchSettings): number {
  const rig = incast(flows, Math.ceil(scaled(ALL_BYTES, settings, MANY_FLOWS) / flows), SHALLOW_FOR_MANY);
  return secondsOf(() => rig.run());
}

function incast(
  senders: number,
  bytes: number,
  switches: SwitchOptions,
  congestion: CongestionOptions | undefined = undefined,
): FabricRig {
  const rig = new FabricRig({
    topology: star({ hosts: senders + 1, link: LINK }),
    switches,
    mtu: MTU,
    ...defined({ congestion }),
  });
  const flows = Array.from({ length: senders }, (_, index) => ({ from: index + 1, to: 0 }));
  rig.write(flows, bytes);
  return rig;
}

/** Pops and pushes of a queue that holds as many events as a busy network. */
function eventsPerSecond(events: number): number {
  const queue = new EventQueue(QUEUED_EVENTS);
  let random = 1;
  const next = (): number => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return random % HORIZON_NS;
  };
  for (let index = 0; index < QUEUED_EVENTS; index++) queue.push(next(), index);
  const seconds = secondsOf(() => {
    for (let done = 0; done < events; done++) {
      const now = queue.peekTime();
      queue.push(now + 1 + next(), queue.pop());
    }
  });
  return events / seconds;
}

export const LINK: LinkSpec = { rateBps: 100e9, delayNs: 1000 };
/** ref:dcqcn#4, for 100 Gb/s. */
export const SWITCHES: SwitchOptions = {
  flowControl: 'pfc',
  ecn: { kminBytes: 400_000, kmaxBytes: 1_600_000, pmax: 0.2 },
};
/** Pauses at 200 packets, as in the run of htsim that is quoted. */
const SHALLOW: SwitchOptions = { flowControl: 'pfc', staticXoffBytes: 200_000 };
/** As much memory in the switch with 256 senders as with 16: queues that no cache holds are not what flows cost. */
const SHALLOW_FOR_MANY: SwitchOptions = { flowControl: 'pfc', staticXoffBytes: 16_000 };
/** As the simulator of HPCC has it: no CNPs, the ACK of a marked packet says so. */
const MLX: CongestionOptions = {
  reaction: { kind: 'dcqcn', profile: 'mlx' },
  notification: { signal: 'ack' },
  lineRateBps: LINK.rateBps,
  maxBurstBytes: 0,
};
const MTU = 1024;
const SENDERS = 16;
const FLOW_BYTES = 10_000_000;
const MANY_FLOWS = 256;
const ALL_BYTES = 160_000_000;
const CALIBRATION_EVENTS = 2_000_000;
const QUEUED_EVENTS = 1000;
const HORIZON_NS = 100_000;
