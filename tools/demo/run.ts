/**
 * Runs the demo in virtual time: connect, every operation on a clean wire, every operation on a bad one, disconnect.
 *
 * Owns the order of events and what is counted. Never prints and never touches a file or a clock: the same settings
 * give the same result, capture included.
 */

import { World } from 'rocev2';
import { Medium } from 'rocev2/packets';
import type { LadderStep } from '../ladder/index.ts';
import { connectPair, type DemoPair, type Tamper, type Transfer, transferAll } from './exchange.ts';
import { type ExpectedFrame, Recorder } from './recorder.ts';
import { badWire, CLEAN_WIRE, type DemoSettings, messageSizes } from './settings.ts';

/** A transfer and where its frames are among the steps: [from, to). */
export interface RecordedTransfer extends Transfer {
  readonly fromStep: number;
  readonly toStep: number;
}

/**
 * What the wire did to frames, and what the devices counted. Not what a capture shows: see `seenLines`.
 */
export interface Counts {
  frames: number;
  lost: number;
  duplicated: number;
  reordered: number;
  corrupted: number;
  /** Packets a receiver dropped because the ICRC was wrong. */
  badIcrc: number;
  /** NAKs for a PSN sequence error. */
  naks: number;
  /** Times that a requester retransmitted because of a NAK or of a gap in READ responses. */
  wentBack: number;
  /** Request packets that left again, damaged and dropped ones too. */
  retransmitted: number;
  /** ACK timers that expired. */
  timeouts: number;
  /** Requests that had been executed before and were not executed again. */
  duplicateRequests: number;
}

export interface Phase {
  readonly name: 'clean' | 'bad';
  readonly transfers: readonly RecordedTransfer[];
  readonly counts: Counts;
  /** Virtual nanoseconds. */
  readonly durationNs: number;
  readonly fromStep: number;
  readonly toStep: number;
}

export interface DemoRun {
  readonly settings: DemoSettings;
  readonly steps: readonly LadderStep[];
  /** Steps before the first transfer: the connection is made. */
  readonly connectSteps: number;
  readonly phases: readonly Phase[];
  /** Why the run ended early, a sentence; undefined when it did not. */
  readonly failure: string | undefined;
  readonly capture: Uint8Array;
  readonly captureFrames: number;
  readonly damagedFrames: ReadonlySet<number>;
  readonly expectedFrames: readonly ExpectedFrame[];
}

/** @param tamper for tests: see `Tamper` */
export async function runDemo(settings: DemoSettings, tamper?: Tamper): Promise<DemoRun> {
  const world = new World({ seed: settings.seed, medium: MEDIUM, faults: CLEAN_WIRE, batchFrames: 1 });
  const recorder = new Recorder('A', MEDIUM);
  world.network.tap = recorder;
  const stage = new Stage(world, recorder, settings, tamper);
  let failure: string | undefined;
  try {
    await world.run(stage.play());
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  return {
    settings,
    steps: recorder.steps,
    connectSteps: stage.connectSteps,
    phases: stage.phases,
    failure: failure ?? stage.failure,
    capture: recorder.takeCapture(),
    captureFrames: recorder.frames,
    damagedFrames: recorder.damaged,
    expectedFrames: recorder.expected,
  };
}

class Stage {
  readonly phases: Phase[] = [];
  connectSteps = 0;
  failure: string | undefined;
  readonly #world: World;
  readonly #recorder: Recorder;
  readonly #settings: DemoSettings;
  readonly #tamper: Tamper | undefined;

  constructor(world: World, recorder: Recorder, settings: DemoSettings, tamper: Tamper | undefined) {
    this.#world = world;
    this.#recorder = recorder;
    this.#settings = settings;
    this.#tamper = tamper;
  }

  async play(): Promise<void> {
    const pair = await connectPair(this.#world, this.#settings.mtu, this.#settings.maxSize);
    this.connectSteps = this.#recorder.steps.length;
    await this.#phase('clean', pair);
    for (const name of ['A', 'B']) this.#world.network.port(name)?.setFaults(badWire(this.#settings), 'send');
    if (this.failure === undefined) await this.#phase('bad', pair);
    if (this.failure === undefined) await pair.connection.disconnect();
  }

  async #phase(name: Phase['name'], pair: DemoPair): Promise<void> {
    const { steps } = this.#recorder;
    const before = this.#count(pair);
    const began = this.#world.now;
    const fromStep = steps.length;
    const transfers: RecordedTransfer[] = [];
    let at = fromStep;
    for await (const transfer of transferAll(pair, messageSizes(this.#settings), this.#world.random, this.#tamper)) {
      transfers.push({ ...transfer, fromStep: at, toStep: steps.length });
      at = steps.length;
      // A queue pair in error takes no more work: what follows would fail for that alone.
      if (pair.a.qp.stateName !== 'RTS' || pair.b.qp.stateName !== 'RTS') {
        this.failure = `the connection broke: ${transfer.operation} of ${transfer.bytes} bytes, ${transfer.faults[0] ?? 'its queue pair left RTS'}`;
        break;
      }
    }
    const counts = difference(this.#count(pair), before);
    const durationNs = this.#world.now - began;
    this.phases.push({ name, transfers, counts, durationNs, fromStep, toStep: steps.length });
  }

  #count(pair: DemoPair): Counts {
    const counts = zeroCounts();
    for (const name of ['A', 'B']) {
      const wire = this.#world.network.port(name)?.sendWire.counters;
      if (wire === undefined) continue;
      counts.frames += wire.frames;
      counts.lost += wire.dropped;
      counts.duplicated += wire.duplicated;
      counts.reordered += wire.reordered;
      counts.corrupted += wire.corrupted;
    }
    for (const { device } of [pair.a, pair.b]) {
      counts.badIcrc += device.counters.badIcrc;
      counts.naks += device.portCounters.outOfSeqRequest;
      counts.wentBack += device.portCounters.rcvdSeqErr;
      counts.retransmitted += device.portCounters.retransmittedPkts;
      counts.timeouts += device.portCounters.localAckTimeoutErr;
      counts.duplicateRequests += device.portCounters.duplicateRequest;
    }
    return counts;
  }
}

function zeroCounts(): Counts {
  return {
    frames: 0,
    lost: 0,
    duplicated: 0,
    reordered: 0,
    corrupted: 0,
    badIcrc: 0,
    naks: 0,
    wentBack: 0,
    retransmitted: 0,
    timeouts: 0,
    duplicateRequests: 0,
  };
}

function difference(after: Counts, before: Counts): Counts {
  const counts = zeroCounts();
  for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] = after[name] - before[name];
  return counts;
}

const MEDIUM = Medium.Ethernet;
