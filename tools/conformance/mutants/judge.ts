/**
 * What runs in the thread of a mutant (run.ts): the suite against our own stack, as this bundle has it. Receives globs
 * of rules, reports the verdicts.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { InProcessDut } from '../duts/in-process.ts';
import { matchRules } from '../rules/index.ts';
import { runSuite } from '../runner/suite.ts';
import type { MutantVerdict } from './run.ts';

const dut = new InProcessDut({ seed: 1 });
const { rules } = await runSuite(dut, { seed: 1, rules: matchRules(`${workerData}`), now: () => 0 });
const verdicts: MutantVerdict[] = rules.map(({ rule, verdict, reason }) => ({ rule: rule.id, verdict, reason }));
parentPort?.postMessage(verdicts);
