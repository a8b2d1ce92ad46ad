/**
 * A run on the simulated network of which everything is known: captures at both hosts, and what became of each request.
 *
 * Owns how such a run is played. The truth about it is `Recording`'s.
 */
import type { FaultSpec } from 'rocev2/faults';
import { Fate, type NetworkTap, Prng } from 'rocev2/sim';
import type { Host } from '../symptoms/end.ts';
import { type ConnectedPair, Stage } from '../symptoms/stage.ts';
import { type KnownRun, Recording } from './recording.ts';
import { WireLog } from './wire-log.ts';

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

/** A run, and each of its frames. */
export interface PlayedRun extends KnownRun {
  readonly log: WireLog;
}

/** Plays a run: WRITEs, SENDs and READs of many sizes from A to B over one connection, under faults. */
export async function playRun(options: RunOptions): Promise<PlayedRun> {
  const { faults, reverse = {}, behindMiddle = {} } = options;
  const scene = new Scene(options);
  const { stage, a, b } = scene;
  const recording = new Recording(FIRST_PSN);
  const log = new WireLog(faults.reorderDelayNs ?? 0);
  scene.watch((now, { name }, direction, whole, start, end, fate, serial) => {
    const bytes = whole.slice(start, end);
    const host = name === a.name ? 'requester' : 'responder';
    recording.frame({ timeNs: now, bytes, host, direction, dropped: (fate & Fate.Dropped) !== 0, serial });
    log.frame(now, (host === 'requester') === (direction === 'out'), direction, bytes, fate, serial);
  });
  const work = scene.work(() => {
    stage.faults(a, faults);
    stage.faults(b, reverse);
    stage.faults(b, behindMiddle, 'receive');
  });
  await stage.world.run(work);
  stage.world.runFor(AFTERMATH_NS);
  return { ...recording.result(a.device.portCounters.localAckTimeoutErr), log };
}

/** What the work is made of. */
export interface SceneOptions extends Pick<RunOptions, 'seed' | 'ipVersion'> {
  /** Three of four messages are READs; default one of eight. */
  readonly mostlyReads?: boolean;
}

/** Two hosts and their work, which is the same for the same seed whatever the network does. */
export class Scene {
  readonly stage: Stage;
  readonly a: Host;
  readonly b: Host;
  readonly #options: SceneOptions;

  constructor(options: SceneOptions) {
    this.#options = options;
    this.stage = new Stage({ seed: options.seed, vantages: [] });
    this.a = this.stage.host('A');
    this.b = this.stage.host('B');
  }

  /** Sees every frame twice. */
  watch(frame: NetworkTap['frame']): void {
    this.stage.world.network.tap = { frame };
  }

  /** @param begin the connection is healthy at first: its identifications and its timing can be known by then */
  async work(begin: () => void): Promise<void> {
    const { stage, a, b } = this;
    const { seed, ipVersion, mostlyReads = false } = this.#options;
    const random = new Prng(seed).fork('work');
    const psns = [FIRST_PSN, FIRST_PSN + 16] as const;
    const pair = await stage.connect(a, b, { ipVersion, timeout: ACK_TIMEOUT, psns });
    for (let i = 0; i < HEALTHY; i++) await pair.a.write(pair.b, 1000);
    begin();
    for (let burst = 0; burst < BURSTS; burst++) {
      const posted: Promise<unknown>[] = [];
      for (let left = 1 + random.below(4); left > 0; left--) {
        const length = 1 + random.below(24_000);
        const which = random.below(8);
        posted.push(post(pair, mostlyReads && which < 6 ? READ : which, length));
      }
      await Promise.all(posted);
      if (random.below(3) === 0) await stage.sleep(random.below(200_000));
    }
  }
}

function post({ a, b }: ConnectedPair, which: number, length: number): Promise<unknown> {
  if (which === READ) return a.read(b, length);
  if (which > 2) return a.write(b, length);
  b.receive();
  return a.send(length);
}

/** 4.096 us * 2^n. */
const ACK_TIMEOUT = 12;
/** The shortest wait of a capture that can be one: what the requester sent may have been held up by a little. */
export const SHORTEST_TIMEOUT_NS = 0.98 * 4096 * 2 ** ACK_TIMEOUT;

const READ = 0;
const HEALTHY = 6;
const BURSTS = 40;
/** Near the end of the number space, so that every run crosses it. */
const FIRST_PSN = 0xff_ff_c0;
/** After the work. */
export const AFTERMATH_NS = 5_000_000;
