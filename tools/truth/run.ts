/**
 * A run on the simulated network of which everything is known: captures at both hosts, and what became of each request.
 *
 * Owns how such a run is played. The truth about it is `Recording`'s.
 */
import type { FaultSpec } from 'rocev2/faults';
import { Prng } from 'rocev2/sim';
import { Stage } from '../symptoms/stage.ts';
import { type KnownRun, Recording } from './recording.ts';

/** What a run is made of; the rest follows from the seed. */
export interface RunOptions {
  readonly seed: number;
  readonly ipVersion: 4 | 6;
  /** On what the requester sends. */
  readonly faults: FaultSpec;
  /** On what the responder sends; default none. */
  readonly reverse?: FaultSpec;
}

/** Plays a run: WRITEs and READs of many sizes from A to B over one connection, under faults. */
export async function playRun({ seed, ipVersion, faults, reverse = {} }: RunOptions): Promise<KnownRun> {
  const stage = new Stage({ seed, vantages: [] });
  const [a, b] = [stage.host('A'), stage.host('B')];
  const recording = new Recording(stage.world.network, FIRST_PSN, 'A', 'B');
  const random = new Prng(seed).fork('work');
  const work = async (): Promise<void> => {
    const psns = [FIRST_PSN, FIRST_PSN + 16] as const;
    const pair = await stage.connect(a, b, { ipVersion, timeout: 12, psns });
    // The connection is healthy at first: its identifications and its timing can be known when the faults begin.
    for (let i = 0; i < HEALTHY; i++) await pair.a.write(pair.b, 1000);
    stage.faults(a, faults);
    stage.faults(b, reverse);
    for (let burst = 0; burst < BURSTS; burst++) {
      const posted: Promise<unknown>[] = [];
      for (let left = 1 + random.below(4); left > 0; left--) {
        const length = 1 + random.below(24_000);
        posted.push(random.below(8) === 0 ? pair.a.read(pair.b, length) : pair.a.write(pair.b, length));
      }
      await Promise.all(posted);
      if (random.below(3) === 0) await stage.sleep(random.below(200_000));
    }
  };
  await stage.world.run(work());
  stage.world.runFor(AFTERMATH_NS);
  return recording.result();
}

const HEALTHY = 6;
const BURSTS = 30;
/** Near the end of the number space, so that every run crosses it. */
const FIRST_PSN = 0xff_ff_c0;
const AFTERMATH_NS = 5_000_000;
