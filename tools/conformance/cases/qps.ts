/** Cases of area QPS: states of queue pairs, completions, verbs. */
import type { Case } from '../tester/case.ts';
import { QPS_TRAFFIC_CASES } from './qps-traffic.ts';
import { QPS_VERB_CASES } from './qps-verbs.ts';

export const QPS_CASES: readonly Case[] = [...QPS_VERB_CASES, ...QPS_TRAFFIC_CASES];
