/**
 * What a packet costs when ten thousand queue pairs share the device, against one queue pair with the same number of
 * messages under way.
 */
import { type Bench, contest, scaled, secondsOf } from './bench.ts';
import { BenchPair } from './pair.ts';

const QUEUE_PAIRS = 10_000;
const MESSAGES = 60_000;
const MESSAGE_BYTES = 1024;
/** Messages under way at a time, each on a queue pair of its own if there are enough. */
const OUTSTANDING = 64;
const REGION_BYTES = 64 * 1024;

export const manyQpsBench: Bench = {
  name: 'many-qps',
  title: 'cost of a packet with 10,000 connected queue pairs',
  async run(settings) {
    const count = scaled(QUEUE_PAIRS, settings, OUTSTANDING);
    const messages = scaled(MESSAGES, settings, OUTSTANDING);
    const many = new BenchPair(MESSAGE_BYTES, REGION_BYTES);
    const one = new BenchPair(MESSAGE_BYTES, REGION_BYTES);
    many.connect(count);
    one.connect(1);
    return contest(this.name, settings, {
      unit: 'ns/packet',
      peer: 'the same with 1 queue pair',
      goal: { sense: '<=', ratio: 1.4 },
      ours: () => nanosecondsPerPacket(many, messages),
      theirs: () => nanosecondsPerPacket(one, messages),
    });
  },
};

function nanosecondsPerPacket(pair: BenchPair, messages: number): number {
  const before = pair.packets;
  const seconds = secondsOf(() => spread(pair, messages));
  return (seconds * 1e9) / (pair.packets - before);
}

/** Round after round, from one queue pair to a distant one: neighbours in memory must not be neighbours in time. */
function spread(pair: BenchPair, messages: number): void {
  const { qps } = pair.a;
  let at = 0;
  for (let done = 0; done < messages; done += OUTSTANDING) {
    for (let i = 0; i < OUTSTANDING; i++) {
      const qp = qps[at];
      if (qp === undefined) throw new Error('every index is that of a queue pair');
      pair.postWrite(qp, i * MESSAGE_BYTES, MESSAGE_BYTES);
      at = (at + STRIDE) % qps.length;
    }
    pair.drain(0);
  }
}

/** A prime that divides no round number: all queue pairs get their turn. */
const STRIDE = 7919;
