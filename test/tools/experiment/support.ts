/** Small experiments between two stacks, as values that tests change. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseText } from '../../../tools/experiment/load.ts';
import { type ExperimentResult, runExperiment } from '../../../tools/experiment/run.ts';
import { HostPool } from '../../../tools/experiment/stage.ts';
import type { CaseSpec, Experiment } from '../../../tools/experiment/types.ts';

/** Two stacks and one case, as a file has them. */
export function fileOf(changes: Partial<Record<keyof Experiment, unknown>> = {}): Record<string, unknown> {
  return {
    name: 'two-stacks',
    title: 'Two stacks',
    about: 'For tests.',
    hosts: {
      alice: { kind: 'stack', addresses: ['10.0.0.1/24'] },
      bob: { kind: 'stack', addresses: ['10.0.0.2/24'] },
    },
    wires: [{ name: 'wire', between: ['alice', 'bob'] }],
    cases: [PING],
    ...changes,
  };
}

export const PING: CaseSpec = {
  name: 'ping',
  run: [
    { host: 'bob', command: 'rping -s -S 3000 -v', background: true, ready: { listen: 7174 } },
    { host: 'alice', command: 'rping -c -a 10.0.0.2 -C 2 -S 3000 -v -V' },
  ],
  expect: [{ run: 'alice', prints: '^ping data: rdma-ping-\\d+: ', count: 2 }],
};

export function experimentOf(changes: Partial<Record<keyof Experiment, unknown>> = {}): Experiment {
  return parseText(JSON.stringify(fileOf(changes)), {}, 'test.json');
}

/** Runs an experiment in a folder that goes with the test. */
export async function run(experiment: Experiment): Promise<{ result: ExperimentResult; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-experiment-'));
  const stages = new HostPool(() => {});
  onTestFinished(async () => {
    await stages.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { result: await runExperiment(experiment, { directory, stages }), directory };
}
