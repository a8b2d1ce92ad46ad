/**
 * Goal: every program of the table in docs/uverbs.md with two ends runs between a device of ours and rdma_rxe, on either
 * side. Method: a guest for each kernel, booted once; its wire is an interface in a namespace, where our device is.
 */
import { describe } from 'vitest';
import { describeWith } from '../support/need.ts';
import { testColumn } from './uverbs-column.ts';

describeWith(['verbs', 'middleware', 'tshark', 'netns', 'bind-mounts', 'lab'], 'every program with two ends', () => {
  describe('against Linux 6.1', () => testColumn('rxe 6.1'));
  describe('against Linux 6.12', () => testColumn('rxe 6.12'));
});
