/** All programs of the table in docs/uverbs.md, in its order. */
import type { ProgramCase } from './case.ts';
import { MIDDLEWARE_CASES } from './middleware.ts';
import { PERFTEST_CASES } from './perftest.ts';
import { QPERF_CASES } from './qperf.ts';
import { RDMACM_CASES, VERBS_CASES } from './verbs.ts';

export const PROGRAM_CASES: readonly ProgramCase[] = [
  ...VERBS_CASES,
  ...RDMACM_CASES,
  ...PERFTEST_CASES,
  ...QPERF_CASES,
  ...MIDDLEWARE_CASES,
];
