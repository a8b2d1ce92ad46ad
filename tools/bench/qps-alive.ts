/**
 * Memory of a hundred thousand connected queue pairs in one process after each has had traffic of its own both ways,
 * against its budget: the soak of queue pairs, which compares the data of every message and counts each completion for
 * its queue pair.
 */
import { queuePairsAlive } from '../soak/queue-pairs.ts';
import { type Bench, type BenchRow, contest, scaled } from './bench.ts';

/** Each is two queue pairs. */
const CONNECTIONS = 50_000;
const BUDGET_MB = 400;
const ROUNDS = 2;
/** Messages under way: what is on the wire is memory of the wire. */
const AT_ONCE = 4096;

export const qpsAliveBench: Bench = {
  name: 'qps-alive',
  title: 'memory of 100,000 queue pairs alive, with traffic on all of them',
  async run(settings): Promise<BenchRow> {
    const count = scaled(CONNECTIONS, settings);
    const { bytesIdle, bytesUsed, faults } = await queuePairsAlive({ count, rounds: ROUNDS, atOnce: AT_ONCE, seed: 1 });
    if (faults.length > 0) throw new Error(`of ${2 * count} queue pairs: ${faults.slice(0, 3).join('; ')}`);
    const megabytes = (bytesEach: number): number => (bytesEach * 2 * count) / 1e6;
    const row = await contest(
      this.name,
      { ...settings, rounds: 1 },
      {
        unit: 'MB',
        peer: 'budget',
        goal: { sense: '<=', ratio: 1 },
        ours: () => megabytes(bytesUsed),
        theirs: () => BUDGET_MB,
      },
    );
    return {
      ...row,
      parts: [{ name: 'of queue pairs that are connected and have sent nothing', value: megabytes(bytesIdle) }],
    };
  },
};
