/**
 * Plays one scenario on a stage: connections by the host control of both ends, work, completions, counters before and
 * after. Owns the order of calls and what makes a run worth nothing: host control that are gone, a trace with holes.
 * Work that fails is judged like all else.
 */
import { defined } from 'rocev2/packets';
import { HostControlError } from '../host-control/host-control.ts';
import {
  type CheckResult,
  checkRun,
  type RunFacts,
  readTrace,
  type TrafficConnection,
  type TrafficEnd,
  traceFault,
} from './checks.ts';
import type { PortCounters } from './counters.ts';
import { type OpenPair, openPair, postWork, sameData } from './pair.ts';
import type { LossScenario } from './scenario.ts';
import type { TestbedEnd, TrafficTestbed } from './stage.ts';
import { otherEnd } from './trace.ts';

/** One scenario, played and judged. */
export interface Played {
  readonly scenario: string;
  /** The end that asked. */
  readonly requester: TrafficEnd;
  /** Why nothing could be judged; then there are no results. */
  readonly fault: string | undefined;
  readonly results: readonly CheckResult[];
  readonly capture: Uint8Array;
}

/** Plays, and lets time pass as the stage has it. */
export async function play(stage: TrafficTestbed, scenario: LossScenario, requester: TrafficEnd): Promise<Played> {
  const played = await stage.run(act(stage, scenario, requester)).catch((error: unknown): Acted => {
    if (!(error instanceof HostControlError)) throw error;
    return { connections: [], before: NO_COUNTERS, after: NO_COUNTERS, fault: error.message, failure: '', spoilt: 0 };
  });
  const capture = await stage.finish();
  const trace = readTrace(capture);
  const { connections } = played;
  const facts = factsOf(stage, scenario, requester, played);
  const fault =
    played.fault ??
    traceFault(trace, {
      connections,
      // Where work failed, what was to happen later did not.
      ...(scenario.injected === undefined || played.failure !== '' ? {} : { injected: scenario.injected }),
    });
  const results = fault === undefined ? [...checkRun(trace, facts), ...endResults(played, requester)] : [];
  return { scenario: scenario.name, requester, fault, results, capture };
}

interface Acted {
  readonly connections: readonly TrafficConnection[];
  readonly before: Readonly<Record<TrafficEnd, PortCounters>>;
  readonly after: Readonly<Record<TrafficEnd, PortCounters>>;
  /** Why the run is worth nothing. */
  readonly fault: string | undefined;
  /** Work that did not complete, or not well; empty when all did. */
  readonly failure: string;
  /** Connections whose data is not what was sent. */
  readonly spoilt: number;
}

async function act(stage: TrafficTestbed, scenario: LossScenario, requester: TrafficEnd): Promise<Acted> {
  const { ends } = stage;
  const asking = ends[requester];
  const answering = ends[otherEnd(requester)];
  await Promise.all([asking, answering].map(({ hostControl }) => hostControl.call('reset', {})));
  const pairs: OpenPair[] = [];
  const timeout = stage.live ? LIVE_TIMEOUT : TIMEOUT;
  for (let index = 0; index < scenario.connections; index++)
    pairs.push(await openPair(asking, answering, scenario, { index, timeout }));
  await settle(stage);
  const before = await countersOf(ends);
  for (const pair of pairs) await postWork(asking, pair, scenario);
  const failure = await completed(stage, asking, pairs, scenario);
  await settle(stage);
  const after = await countersOf(ends);
  let spoilt = 0;
  if (failure === '') for (const pair of pairs) if (!(await sameData(asking, answering, pair, scenario))) spoilt++;
  return {
    connections: pairs.map((pair) => ({ ...pair.connection, requester })),
    before,
    after,
    fault: undefined,
    failure,
    spoilt,
  };
}

/** What is under way arrives, and counters that are read from a cache are fresh. */
const settle = (stage: TrafficTestbed): Promise<void> => stage.sleep(stage.live ? LIVE_SETTLE_NS : SETTLE_NS);

async function countersOf(ends: TrafficTestbed['ends']): Promise<Record<TrafficEnd, PortCounters>> {
  const [a, b] = await Promise.all([ends.a, ends.b].map(({ hostControl }) => hostControl.call('counters', {})));
  return { a: a?.counters ?? {}, b: b?.counters ?? {} };
}

/** Waits for every completion; says what went wrong, or nothing. */
async function completed(
  stage: TrafficTestbed,
  { hostControl }: TestbedEnd,
  pairs: readonly OpenPair[],
  { messages }: LossScenario,
): Promise<string> {
  const open = new Map(pairs.map(({ sendCq }) => [sendCq, messages]));
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    for (const [cq, left] of open) {
      const { completions } = await hostControl.call('cq.poll', { cq, max: 64 });
      const wrong = completions.find(({ status }) => status !== 0);
      if (wrong !== undefined) return `work request ${wrong.wrId} completed with status ${wrong.status}`;
      if (left - completions.length > 0) open.set(cq, left - completions.length);
      else open.delete(cq);
    }
    if (open.size === 0) return '';
    await stage.sleep(stage.live ? LIVE_LOOK_NS : LOOK_NS);
  }
  return `the work of ${open.size} of ${pairs.length} connections did not complete`;
}

function factsOf(stage: TrafficTestbed, scenario: LossScenario, requester: TrafficEnd, played: Acted): RunFacts {
  const { ends, live } = stage;
  const { connections, before, after, failure } = played;
  const timeoutNs = 4096 * 2 ** (live ? LIVE_TIMEOUT : TIMEOUT);
  const end = otherEnd(requester);
  const distance = ends[end].minTimeBetweenCnpsNs;
  return {
    connections,
    reads: scenario.opcode === 'read',
    // On a busy machine a frame may reach the bump long after it was sent.
    pace: { timeoutNs, slackNs: live ? timeoutNs / 2 : 0 },
    // A timer that runs out for the last time leaves no trace.
    counters:
      failure === '' ? { a: { before: before.a, after: after.a }, b: { before: before.b, after: after.b } } : {},
    // Ours says so (transport/counters.ts).
    countImplied: (['a', 'b'] as const).filter((name) => ends[name].device === 'rocev2'),
    cnp: {
      end,
      options: {
        ...defined({ minTimeBetweenCnpsNs: distance }),
        flows: connections.map(({ requesterQpn, responderQpn }) => ({ qpn: responderQpn, peerQpn: requesterQpn })),
        slackNs: live ? LIVE_SLACK_NS : 0,
      },
    },
  };
}

/** What no rule of the registry is by itself: all work completes, and the data is there. */
function endResults({ failure, spoilt, connections }: Acted, end: TrafficEnd): CheckResult[] {
  const said = (check: string, difference: string, seen: number): CheckResult => ({
    ...{ check, end, seen, ok: difference === '', difference, variation: '', figures: {} },
  });
  const seen = connections.length;
  const spoiling = spoilt === 0 ? '' : `the data of ${spoilt} connections is not what was sent`;
  return [said('completion', failure, seen), said('data', spoiling, failure === '' ? seen : 0)];
}

const NO_COUNTERS = { a: {}, b: {} };
const TIMEOUT = 12;
/** Longer than anything an emulated processor does at leisure. */
const LIVE_TIMEOUT = 17;
const SETTLE_NS = 1e6;
const LIVE_SETTLE_NS = 60e6;
const LOOK_NS = 200e3;
const LIVE_LOOK_NS = 20e6;
const MAX_LOOKS = 1500;
/** Of notifications: the bump and our device share a loop. */
const LIVE_SLACK_NS = 40e6;
