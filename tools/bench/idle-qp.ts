/**
 * Memory of a connected queue pair that has nothing to do, against its budget. Buffers are the application's and not
 * counted.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Bench, contest, scaled } from './bench.ts';
import { BenchPair } from './pair.ts';

const QUEUE_PAIRS = 10_000;
const BUDGET_BYTES = 4096;

export const idleQpBench: Bench = {
  name: 'idle-qp',
  title: 'memory of an idle connected queue pair',
  async run(settings) {
    // Both ends live in this process.
    const pairs = scaled(QUEUE_PAIRS, settings, 50) / 2;
    return contest(this.name, settings, {
      unit: 'bytes',
      peer: 'budget',
      goal: { sense: '<=', ratio: 1 },
      ours: () => bytesPerQueuePair(Math.ceil(pairs)),
      theirs: () => BUDGET_BYTES,
    });
  },
};

function bytesPerQueuePair(pairs: number): number {
  const pair = new BenchPair(1024, 4096);
  // What the first queue pair allocates is not the cost of each.
  pair.connect(1);
  const before = bytesInUse();
  pair.connect(pairs);
  const used = bytesInUse() - before;
  // Read, so that the pair is alive while the memory is counted.
  return used / (pair.a.qps.length + pair.b.qps.length - 2);
}

/**
 * Heap and the memory of array buffers, after two collections: buffers go one round after the objects that hold them.
 */
function bytesInUse(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
