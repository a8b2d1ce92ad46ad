/**
 * A run on the simulated network of which everything is known: captures at both hosts, and what became of each request.
 *
 * Owns how such a run is played. The truth about it is `Recording`'s.
 */
import type { FaultSpec } from 'rocev2/faults';
import { Prng } from 'rocev2/sim';
import { type ConnectedPair, Stage } from '../symptoms/stage.ts';
import { type KnownRun, Recording } from './recording.ts';

/** What a run is made of; the rest follows from the seed. */
export interface RunOptions {
  readonly seed: number;
  readonly ipVersion: 4 | 6;
  /** On what the requester sends. */
  readonly faults: FaultSpec;
  /** On what the responder sends; default none. */
  readonly reverse?: FaultSpec;
  /** On what arrives at the responder, behind the middle; default none. */
  readonly behindMiddle?: FaultSpec;
}

/** Plays a run: WRITEs, SENDs and READs of many sizes from A to B over one connection, under faults. */
export async function playRun(options: RunOptions): Promise<KnownRun> {
  const { seed, ipVersion, faults, reverse = {}, behindMiddle = {} } = options;
  const stage = new Stage({ seed, vantages: [] });
  const [a, b] = [stage.host('A'), stage.host('B')];
  const recording = Recording.of(stage.world.network, FIRST_PSN, 'A');
  const random = new Prng(seed).fork('work');
  const work = async (): Promise<void> => {
    const psns = [FIRST_PSN, FIRST_PSN + 16] as const;
    const pair = await stage.connect(a, b, { ipVersion, timeout: ACK_TIMEOUT, psns });
    // The connection is healthy at first: its identifications and its timing can be known when the faults begin.
    for (let i = 0; i < HEALTHY; i++) await pair.a.write(pair.b, 1000);
    stage.faults(a, faults);
    stage.faults(b, reverse);
    stage.faults(b, behindMiddle, 'receive');
    for (let burst = 0; burst < BURSTS; burst++) {
      const posted: Promise<unknown>[] = [];
      for (let left = 1 + random.below(4); left > 0; left--) {
        const length = 1 + random.below(24_000);
        posted.push(post(pair, random.below(8), length));
      }
      await Promise.all(posted);
      if (random.below(3) === 0) await stage.sleep(random.below(200_000));
    }
  };
  await stage.world.run(work());
  stage.world.runFor(AFTERMATH_NS);
  return recording.result(a.device.portCounters.localAckTimeoutErr);
}

function post({ a, b }: ConnectedPair, which: number, length: number): Promise<unknown> {
  if (which === 0) return a.read(b, length);
  if (which > 2) return a.write(b, length);
  b.receive();
  return a.send(length);
}

/** 4.096 us * 2^n. */
const ACK_TIMEOUT = 12;
/** The shortest wait of a capture that can be one: what the requester sent may have been held up by a little. */
export const SHORTEST_TIMEOUT_NS = 0.98 * 4096 * 2 ** ACK_TIMEOUT;

const HEALTHY = 6;
const BURSTS = 40;
/** Near the end of the number space, so that every run crosses it. */
const FIRST_PSN = 0xff_ff_c0;
const AFTERMATH_NS = 5_000_000;
