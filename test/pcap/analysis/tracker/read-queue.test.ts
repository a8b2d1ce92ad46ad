/** Goal: what is noted of a READ is noted of no other one beside it. Method: three READs without a gap. */
import { expect, it } from 'vitest';
import { ReadQueue } from '../../../../pcap/analysis/tracker/read-queue.ts';

/** Of PSNs 0 to 3, 4 to 7 and 8 to 11. */
function threeReads(): ReadQueue {
  const queue = new ReadQueue();
  for (const start of [0, 4, 8]) Object.assign(queue.push(), { start, end: start + 4, next: start });
  return queue;
}

const each = <T>(queue: ReadQueue, of: (entry: NonNullable<ReturnType<ReadQueue['find']>>) => T) =>
  [0, 4, 8].map((psn) => {
    const entry = queue.find(psn);
    return entry === undefined ? undefined : of(entry);
  });

it('a READ that is requested again is not the one before or behind', () => {
  const queue = threeReads();
  queue.askAgain(4, 8, 77, 5);
  expect(each(queue, ({ askedAgainNs, askedAgainFrame }) => [askedAgainNs, askedAgainFrame])).toEqual([
    [-1, -1],
    [77, 5],
    [-1, -1],
  ]);
});

it('all that a longer request covers are requested again, in part as well', () => {
  const queue = threeReads();
  queue.askAgain(3, 9, 77, 5);
  expect(each(queue, ({ askedAgainNs }) => askedAgainNs)).toEqual([77, 77, 77]);
});

it('nor is a copied request that of its neighbours', () => {
  const queue = threeReads();
  queue.copied(4, 8, 5);
  expect(each(queue, ({ copiedFrame }) => copiedFrame)).toEqual([-1, 5, -1]);
});

it('how long a READ took is forgotten with it', () => {
  const queue = new ReadQueue();
  for (let start = 0; start < 4000; start += 4) {
    const entry = queue.push();
    expect(entry.responseTimeNs).toBe(Number.POSITIVE_INFINITY);
    Object.assign(entry, { start, end: start + 4, next: start + 4, openEnded: false, responseTimeNs: 7 });
  }
});
