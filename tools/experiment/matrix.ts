/** The interop matrix: the experiments against rdma_rxe, each with every path MTU that it is worth running with. */
import type { KernelLabel } from '../lab/recipe.ts';
import { loadExperiment } from './load.ts';
import type { Experiment } from './types.ts';

export interface MatrixRun {
  readonly kernel: KernelLabel;
  /** MTU of the interface. */
  readonly mtu: number;
  readonly experiment: Experiment;
}

/** What to run with a kernel, in an order in which the guests need not be booted more often than MTUs are. */
export function interopMatrix(kernel: KernelLabel): MatrixRun[] {
  return MTUS.flatMap((mtu) => {
    const names = mtu === MTUS[0] ? [...TOOLS, ERRORS] : TOOLS;
    return names.map((name) => ({ kernel, mtu, experiment: loadExperiment(name, { kernel, mtu: String(mtu) }) }));
  });
}

/** Path MTU 1024 and 4096 (ref:rxe#1). */
const MTUS: readonly number[] = [1500, 4200];
const TOOLS: readonly string[] = ['interop-rping', 'interop-ucmatose', 'interop-rdma-pair'];
/** What goes wrong does so at any MTU. */
const ERRORS = 'interop-errors';
