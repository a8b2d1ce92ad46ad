/** The memory that commands borrow: in turn, and however many wait. */
import { expect, it } from 'vitest';
import type { MemoryRegion } from '../../../../src/index.ts';
import { DataPool, MAX_DATA_BYTES } from '../../../../src/ulp/nvme/target/data-pool.ts';
import { makePair } from '../../../device/support.ts';

it('serves those that wait in the order in which they came', () => {
  const pool = new DataPool(makePair().a.allocPd(), MAX_DATA_BYTES);
  const served: number[] = [];
  let first: MemoryRegion | undefined;
  pool.lend(MAX_DATA_BYTES, (region) => {
    first = region;
  });
  for (let i = 0; i < 3; i++) pool.lend(100, () => served.push(i));
  expect([served, pool.waiting]).toEqual([[], 3]);
  if (first !== undefined) pool.giveBack(first);
  expect([served, pool.waiting]).toEqual([[0, 1, 2], 0]);
});

it('takes back at once from any number of those that waited, whose queues are gone', () => {
  const pool = new DataPool(makePair().a.allocPd(), MAX_DATA_BYTES);
  const lent: MemoryRegion[] = [];
  let served = 0;
  pool.lend(MAX_DATA_BYTES, (region) => lent.push(region));
  for (let i = 0; i < 20_000; i++)
    pool.lend(MAX_DATA_BYTES, (region) => {
      served++;
      pool.giveBack(region);
    });
  for (const region of lent) pool.giveBack(region);
  expect([served, pool.waiting]).toEqual([20_000, 0]);
});
