/** What tests of `roce sim` share: a small scenario, files of them, outcomes made by hand. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Job } from '../../../tools/sim/run/execute.ts';
import type { FlowOutcome, RunOutcome } from '../../../tools/sim/run/outcome.ts';
import { type PlannedRun, planRuns, type Setting } from '../../../tools/sim/run/plan.ts';
import type { Json, JsonObject } from '../../../tools/sim/scenario/json.ts';

/** Three hosts, two short flows: milliseconds to run. */
export const SMALL = {
  name: 'small',
  title: 'Two to one',
  about: 'A scenario for tests.',
  topology: { kind: 'star', hosts: 3, link: { rateBps: 10e9, delayNs: 1000 } },
  switches: { flowControl: 'pfc', ecn: { kminBytes: 10_000, kmaxBytes: 100_000, pmax: 0.2 } },
  congestion: { reaction: { kind: 'dcqcn', profile: 'mlx' } },
  traffic: [{ pattern: 'incast', senders: 2, receiver: 2, bytes: 50_000 }],
  probe: { intervalNs: 5000 },
  expect: [{ figure: 'completed', operator: '==', value: 2, why: 'Both get there.' }],
} as const satisfies JsonObject;

/** `SMALL` with other fields. */
export function small(changes: JsonObject = {}): JsonObject {
  return { ...SMALL, ...changes };
}

/** A folder that is gone after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'roce-sim-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A file with this in it. */
export function scenarioFile(json: Json, name = 'scenario.json'): string {
  const path = join(folder(), name);
  writeFileSync(path, JSON.stringify(json));
  return path;
}

/** The only run of a scenario, as a thread is told of it. */
export function jobOf(json: Json, { details = false, settings = [] as readonly Setting[] } = {}): Job {
  const [run] = planRuns(settings, [], []);
  return {
    file: { path: 'scenario.json', json },
    run: run as PlannedRun,
    runs: 1,
    version: '0.0.0',
    only: [],
    details,
  };
}

export function flow(changes: Partial<FlowOutcome> = {}): FlowOutcome {
  return {
    group: 'incast',
    src: 0,
    dst: 2,
    bytes: 1000,
    startNs: 0,
    fctNs: 2000,
    slowdown: 2,
    deliveredBytes: 1000,
    goodputBps: 4e9,
    windowBps: 4e9,
    status: 'done',
    ...changes,
  };
}

export function outcome(changes: Partial<RunOutcome> = {}): RunOutcome {
  return { endNs: 10_000, events: 1, flows: [flow()], series: [], queues: [], counts: {}, ...changes };
}
