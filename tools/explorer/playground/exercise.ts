/**
 * Exercises: a connection with a hidden fault, drawn from a seed, and a few answers of which one is right. Owns the
 * drawing; the same seed gives the same exercise.
 */
import { Prng } from 'rocev2/sim';
import { HIDDEN_FAULTS, type HiddenFault } from './exercise-faults.ts';
import type { PacketSummary } from './packet-view.ts';
import { parseScenario } from './parse-scenario.ts';
import type { PlaygroundScenario } from './scenario.ts';

/** One exercise. */
export interface Exercise {
  /** 0 .. 2^32 - 1. */
  readonly seed: number;
  readonly scenario: PlaygroundScenario;
  /** Different ones, in a drawn order. */
  readonly choices: readonly string[];
  /** Index of the right one. */
  readonly right: number;
  /** How it can be told. */
  readonly because: string;
}

/** The exercise of a seed. */
export function exerciseOf(seed: number): Exercise {
  const random = new Prng(seed).fork('exercise');
  const faults = shuffled(HIDDEN_FAULTS, random);
  const fault = faults[0] ?? noFault();
  const choices = shuffled(faults.slice(0, MOST_CHOICES), random);
  return {
    seed,
    scenario: parseScenario({ ...innocuous(random), seed, ...withPsns(fault.make(random), random) }),
    choices: choices.map(({ name }) => name),
    right: choices.indexOf(fault),
    because: fault.because,
  };
}

/** A packet as its sender's capture shows it: what becomes of it on the way is for the learner to find out. */
export function asSent(packet: PacketSummary): PacketSummary {
  const { state } = packet;
  return { ...packet, fate: [], lossReason: '', copyOf: 0, state: state === 'lost' ? 'delivered' : state };
}

function innocuous(random: Prng): object {
  return { link: { delayNs: 1_000 + 500 * random.below(5) } };
}

/** No two exercises begin with the same PSN, and one in eight wraps. */
function withPsns(scenario: Readonly<Record<string, unknown>>, random: Prng): object {
  const firstPsn = random.below(8) === 0 ? 0xff_ff_ff - random.below(3) : random.below(0xff_ff_00);
  const { qp = {} } = scenario;
  return { ...scenario, qp: { firstPsn, ...(typeof qp === 'object' ? qp : {}) } };
}

function shuffled<T>(items: readonly T[], random: Prng): T[] {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [all[at], all[other]] = [all[other] as T, all[at] as T];
  }
  return all;
}

function noFault(): HiddenFault {
  throw new RangeError('there are hidden faults');
}

const MOST_CHOICES = 5;
