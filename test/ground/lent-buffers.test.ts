/** Buffers that are lent in turn: however many want one, there are few. */
import { expect, it } from 'vitest';
import { LentBuffers } from '../../src/ground/lent-buffers.ts';

it('makes no more than its number, and serves those that wait in the order in which they came', async () => {
  const buffers = new LentBuffers(8, 2);
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const all = Array.from({ length: 5 }, (_, i) =>
    buffers.lend(async ({ length }) => {
      began.push(i);
      await new Promise<void>((resolve) => ends.push(resolve));
      return length;
    }),
  );
  expect([began, buffers.made]).toEqual([[0, 1], 2]);
  for (let i = 0; i < 5; i++) {
    ends[i]?.();
    await all[i];
  }
  expect(began).toEqual([0, 1, 2, 3, 4]);
  expect(buffers.made).toBe(2);
  expect(await Promise.all(all)).toEqual([8, 8, 8, 8, 8]);
});

it('makes none before it is needed, and uses one again', async () => {
  const buffers = new LentBuffers(8, 4);
  expect(buffers.made).toBe(0);
  const seen = [await buffers.lend((buffer) => buffer), await buffers.lend((buffer) => buffer)];
  expect(seen[0]).toBe(seen[1]);
  expect(buffers.made).toBe(1);
});

it('takes a buffer back from whoever fails', async () => {
  const buffers = new LentBuffers(8, 1);
  await expect(
    buffers.lend(() => {
      throw new Error('planted');
    }),
  ).rejects.toThrow('planted');
  expect(await buffers.lend(({ length }) => length)).toBe(8);
  expect(buffers.made).toBe(1);
});
