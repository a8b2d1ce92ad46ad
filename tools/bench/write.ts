/**
 * RC WRITE between two devices of this process, ICRC made and verified, against what the work on the bytes alone
 * allows: one copy of memory that is not in a cache, and two CRCs. Headers, state machines and the network are what is
 * left to lose.
 */
import { type Bench, type BenchSettings, contest, scaled, secondsOf } from './bench.ts';
import { crcSeconds } from './crc-bound.ts';
import { BenchPair } from './pair.ts';

const MTU = 4096;
const MESSAGE_BYTES = 64 * 1024;
const MESSAGES = 4096;
const OUTSTANDING = 16;
/** More than any cache holds. */
const REGION_BYTES = 32 * 1024 * 1024;
const MIB = 1024 * 1024;

export const writeBench: Bench = {
  name: 'write',
  title: 'in-process RC WRITE goodput, 64 KiB messages, MTU 4096',
  async run(settings) {
    const pair = new BenchPair(MTU, REGION_BYTES);
    pair.connect(1);
    const messages = scaled(MESSAGES, settings, OUTSTANDING);
    const bound = new Bound(settings);
    return contest(this.name, settings, {
      unit: 'MiB/s',
      peer: "one cold copy, two CRCs, zlib's or ours (bound)",
      goal: { sense: '>=', ratio: 0.65 },
      ours: () => (messages * MESSAGE_BYTES) / MIB / secondsOf(() => writeAll(pair, messages)),
      theirs: () => bound.measure() / MIB,
    });
  },
};

/** Keeps `OUTSTANDING` messages under way, through all of the region. */
function writeAll(pair: BenchPair, messages: number): void {
  const [qp] = pair.a.qps;
  if (qp === undefined) throw new Error('a queue pair was connected');
  for (let posted = 0; posted < messages; posted++) {
    pair.postWrite(qp, (posted * MESSAGE_BYTES) % REGION_BYTES, MESSAGE_BYTES);
    pair.drain(OUTSTANDING - 1);
  }
  pair.drain(0);
}

/** Bytes a second that one cold copy and two CRCs of every byte leave, in pieces of one packet's payload. */
class Bound {
  readonly #from = new Uint8Array(REGION_BYTES).fill(0x5a);
  readonly #to = new Uint8Array(REGION_BYTES).fill(0xa5);
  readonly #passes: number;

  constructor(settings: BenchSettings) {
    this.#passes = scaled(8, settings);
  }

  measure(): number {
    const bytes = REGION_BYTES * this.#passes;
    return bytes / (secondsOf(() => this.#copyAll()) + 2 * this.#checksumAll());
  }

  #copyAll(): void {
    for (let pass = 0; pass < this.#passes; pass++) {
      for (let at = 0; at < REGION_BYTES; at += MTU) this.#to.set(this.#from.subarray(at, at + MTU), at);
    }
  }

  /** In a cache, as a packet is that was just written: the faster case. */
  #checksumAll(): number {
    return crcSeconds(this.#from.subarray(0, MTU), (REGION_BYTES * this.#passes) / MTU);
  }
}
