/** The memory that commands borrow: in turn, and however many wait. */
import { expect, it } from 'vitest';
import { attachDevice, World } from '../../../../src/index.ts';
import type { DataMemory } from '../../../../src/ulp/nvme/target/data-memory.ts';
import { DataPool, MAX_DATA_BYTES } from '../../../../src/ulp/nvme/target/data-pool.ts';
import { makePair } from '../../../device/support.ts';

it('serves those that wait in the order in which they came', () => {
  const pool = new DataPool(makePair().a.allocPd(), MAX_DATA_BYTES);
  const served: number[] = [];
  let first: DataMemory | undefined;
  pool.lend(MAX_DATA_BYTES, (memory) => {
    first = memory;
  });
  for (let i = 0; i < 3; i++) pool.lend(100, () => served.push(i));
  expect([served, pool.waiting]).toEqual([[], 3]);
  first?.giveBack();
  expect([served, pool.waiting]).toEqual([[0, 1, 2], 0]);
});

it('gives what there is at once, but passes over nobody who waits, and keeps nobody waiting', () => {
  const pool = new DataPool(makePair().a.allocPd(), MAX_DATA_BYTES);
  const small = pool.take(4096);
  expect(small?.region.length).toBe(4096);
  expect([pool.take(MAX_DATA_BYTES), pool.waiting]).toEqual([undefined, 0]);
  let large: DataMemory | undefined;
  pool.lend(MAX_DATA_BYTES, (memory) => {
    large = memory;
  });
  expect(pool.take(4096)).toBeUndefined();
  small?.giveBack();
  expect([large?.region.length, pool.take(4096), pool.waiting]).toEqual([MAX_DATA_BYTES, undefined, 0]);
});

it('takes back at once from any number of those that waited, whose queues are gone', () => {
  const pool = new DataPool(makePair().a.allocPd(), MAX_DATA_BYTES);
  const lent: (DataMemory | undefined)[] = [];
  let served = 0;
  const keep = (memory: DataMemory | undefined): void => void lent.push(memory);
  pool.lend(MAX_DATA_BYTES, keep);
  for (let i = 0; i < 20_000; i++)
    pool.lend(MAX_DATA_BYTES, (memory) => {
      served++;
      memory?.giveBack();
    });
  for (const memory of lent) memory?.giveBack();
  expect([served, pool.waiting]).toEqual([20_000, 0]);
});

it('says that there is none where the device registers no more, and loses nothing of its room', () => {
  const world = new World({ seed: 1 });
  const pd = attachDevice(world, 'small', { addresses: ['10.0.0.1/24'], limits: { maxMr: 1 } }).allocPd();
  const pool = new DataPool(pd, 2 * MAX_DATA_BYTES);
  const only = pd.regMr(4096);
  const got: (DataMemory | undefined)[] = [];
  for (let i = 0; i < 3; i++) pool.lend(MAX_DATA_BYTES, (memory) => got.push(memory));
  expect([got, pool.waiting]).toEqual([[undefined, undefined, undefined], 0]);
  pd.deregMr(only);
  pool.lend(MAX_DATA_BYTES, (memory) => got.push(memory));
  expect(got.at(-1)?.region.bytes).toHaveLength(MAX_DATA_BYTES);
});
