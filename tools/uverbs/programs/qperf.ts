/** The tests of qperf that use RDMA. */
import type { ProgramCase } from './case.ts';

/** The connection managers agree upon one READ at a time. */
export const QPERF_CASES: readonly ProgramCase[] = [
  ...[
    ...['rc_lat', 'rc_bw', 'rc_bi_bw', 'rc_rdma_read_lat', 'rc_rdma_read_bw', 'rc_rdma_write_lat', 'rc_rdma_write_bw'],
    ...['rc_rdma_write_poll_lat', 'rc_compare_swap_mr', 'rc_fetch_add_mr', 'ver_rc_compare_swap', 'ver_rc_fetch_add'],
  ].map((test) => ({ ...qperf(`-cm 1 ${test}`), mayFind: ['read-stall'] })),
  ...['rc_lat', 'uc_lat', 'uc_bw', 'uc_rdma_write_lat', 'ud_lat', 'ud_bw'].map((test) => ({
    ...qperf(test),
    exitCode: 1,
    prints: /Invalid argument/,
    silent: true,
    refused: 'EINVAL: without -cm 1 its paths and address handles have no GRH',
  })),
];

function qperf(test: string): ProgramCase {
  return {
    from: 'qperf',
    lines: ['qperf', `qperf -t 1 127.0.0.1 ${test}`],
    prints: /(latency|bw|rate) += /,
    goesOn: true,
  };
}
