/**
 * The fluid model in motion: the delay differential equations of DCQCN (ref:dcqcn#5.1), integrated.
 * Owns the options of an integration and their check, the method (Heun's, second order, with a fixed step) and the
 * samples. The equations are in fluid-slopes.ts, the past they look into in history.ts. No randomness: the same
 * parameters give the same trace.
 *
 * What is not in the model, as in the paper's: single packets, hyper increase, a lowest rate, the end of a real buffer.
 */
import { FIRST_FLOW, fluidSlopes, PER_FLOW, QUEUE } from './fluid-slopes.ts';
import { History } from './history.ts';
import { demand, type FluidParameters, inPackets, isPositive, NS_PER_S, type PacketUnits } from './parameters.ts';

/** What a flow's controller holds at its start. */
export interface FluidFlowState {
  /** R_C, bits a second, above 0. */
  readonly rateBps: number;
  /** R_T, bits a second, above 0. */
  readonly targetBps: number;
  /** 0..1. */
  readonly alpha: number;
}

/** A flow that has a start of its own. */
export interface FluidFlow {
  /** From when on it sends, nanoseconds; default 0. Earlier marks do not reach it: it had sent nothing. */
  readonly startNs?: number;
  /** Default: rate and target at the bottleneck's rate, alpha 1; there is no slow start (ref:dcqcn#1). */
  readonly initial?: FluidFlowState;
}

/** How long to integrate, how finely, from where. */
export interface IntegrationOptions {
  /** Nanoseconds of model time, above 0. */
  readonly durationNs: number;
  /** A sample is kept every so often, nanoseconds, above 0; the first at 0. Rounded to whole steps, at least one. */
  readonly sampleNs: number;
  /**
   * Step of the method, nanoseconds; at most the loop delay unless that is 0. Default: the delay in equal parts of at
   * most 1 us.
   */
  readonly stepNs?: number;
  /** Where all flows start; default as of `FluidFlow`. A flow of `perFlow` may override it. */
  readonly initial?: FluidFlowState;
  /** The queue at the start and before, bytes; default 0. */
  readonly initialQueueBytes?: number;
  /** Flows one by one, as many as `flows` says, where they differ. Without it one is integrated and stands for all. */
  readonly perFlow?: readonly FluidFlow[];
  /** R_C and R_T never exceed this; default Infinity, for ref:dcqcn#5.1 has no limit. A device has its line rate. */
  readonly maxRateBps?: number;
}

/** One flow over time; all 0 before its start. */
export interface FluidFlowTrace {
  /** R_C, bits a second. */
  readonly rateBps: readonly number[];
  /** R_T, bits a second. */
  readonly targetBps: readonly number[];
  /** 0..1. */
  readonly alpha: readonly number[];
}

/**
 * Samples of an integration. Rates and alpha at this level are those of the first flow: without `perFlow`, of every
 * flow.
 */
export interface FluidTrace extends FluidFlowTrace {
  /** Nanoseconds, from 0. */
  readonly times: readonly number[];
  /** Bytes. */
  readonly queueBytes: readonly number[];
  /** One entry for each of `perFlow`; without it a single one. */
  readonly flows: readonly FluidFlowTrace[];
}

/**
 * Integrates the fluid model. Work grows with duration / step and with the flows of `perFlow`, not with `flows`.
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter or an option out of range
 */
export function integrate(parameters: FluidParameters, options: IntegrationOptions): FluidTrace {
  const units = inPackets(parameters);
  const stepNs = checkedStep(parameters, options);
  const starts = flowStarts(parameters, options, stepNs);
  const sampleEvery = Math.max(1, Math.round(options.sampleNs / stepNs));
  const steps = Math.floor(options.durationNs / stepNs + ROUNDING);
  const maxRate = (options.maxRateBps ?? Infinity) / parameters.packetBits;
  const flowsEach = options.perFlow === undefined ? parameters.flows : 1;
  const recorder = new Recorder(parameters.packetBits, starts.length);

  const state = new Float64Array(FIRST_FLOW + starts.length * PER_FLOW);
  state[QUEUE] = ((options.initialQueueBytes ?? 0) * 8) / parameters.packetBits;
  startFlows(state, starts, 0);
  const advance = heun(units, flowsEach, stepNs / NS_PER_S, maxRate, state);
  for (let step = 0; step <= steps; step++) {
    if (step > 0) startFlows(state, starts, step);
    if (step % sampleEvery === 0) recorder.sample(step * stepNs, state);
    if (step < steps) advance();
  }
  return recorder.trace();
}

/**
 * Heun's method on `state`, in place: the slope here, the slope where it would lead, their mean. The past at the end of
 * a step is the past at the beginning of the next; without a delay there is none, and the equations look at the
 * present.
 */
function heun(units: PacketUnits, flowsEach: number, step: number, maxRate: number, state: Float64Array): () => void {
  const delayed = Float64Array.from(state);
  const delayedNext = Float64Array.from(state);
  const here = new Float64Array(state.length);
  const there = new Float64Array(state.length);
  const guess = new Float64Array(state.length);
  const history = units.delay > 0 ? new History(units.delay / step - 1, state) : undefined;

  return () => {
    history?.record(state);
    history?.read(delayedNext);
    fluidSlopes(units, flowsEach, state, history === undefined ? state : delayed, here);
    for (let i = 0; i < state.length; i++) guess[i] = (state[i] as number) + step * (here[i] as number);
    keepInRange(guess, maxRate);
    fluidSlopes(units, flowsEach, guess, history === undefined ? guess : delayedNext, there);
    for (let i = 0; i < state.length; i++)
      state[i] = (state[i] as number) + (step / 2) * ((here[i] as number) + (there[i] as number));
    keepInRange(state, maxRate);
    delayed.set(delayedNext);
  };
}

/** A queue is not shorter than empty, a rate not above the device's. */
function keepInRange(state: Float64Array, maxRate: number): void {
  if ((state[QUEUE] as number) < 0) state[QUEUE] = 0;
  for (let at = FIRST_FLOW; at < state.length; at += PER_FLOW) {
    if ((state[at] as number) > maxRate) state[at] = maxRate;
    if ((state[at + 1] as number) > maxRate) state[at + 1] = maxRate;
  }
}

/** R_C, R_T and alpha of a flow, and the step at which they appear in the state. */
interface FlowStart {
  readonly step: number;
  readonly values: readonly [rate: number, target: number, alpha: number];
}

function startFlows(state: Float64Array, starts: readonly FlowStart[], step: number): void {
  starts.forEach((start, flow) => {
    if (start.step === step) state.set(start.values, FIRST_FLOW + flow * PER_FLOW);
  });
}

function flowStarts(parameters: FluidParameters, options: IntegrationOptions, stepNs: number): readonly FlowStart[] {
  const { capacityBps, packetBits, flows } = parameters;
  const { perFlow } = options;
  demand(perFlow === undefined || perFlow.length === flows, 'perFlow', `as long as flows (${flows})`, perFlow?.length);
  const lineRate = { rateBps: capacityBps, targetBps: capacityBps, alpha: 1 };
  return (perFlow ?? [{}]).map(({ startNs = 0, initial = options.initial ?? lineRate }) => {
    const { rateBps, targetBps, alpha } = initial;
    demand(startNs >= 0 && startNs < Infinity, 'startNs', '0 or more and finite', startNs);
    demand(isPositive(rateBps), 'rateBps', 'above 0 and finite', rateBps);
    demand(isPositive(targetBps), 'targetBps', 'above 0 and finite', targetBps);
    demand(alpha >= 0 && alpha <= 1, 'alpha', '0 to 1', alpha);
    return { step: Math.round(startNs / stepNs), values: [rateBps / packetBits, targetBps / packetBits, alpha] };
  });
}

function checkedStep({ feedbackDelayNs }: FluidParameters, options: IntegrationOptions): number {
  const { durationNs, sampleNs, initialQueueBytes = 0, maxRateBps = Infinity } = options;
  demand(isPositive(durationNs), 'durationNs', 'above 0 and finite', durationNs);
  demand(isPositive(sampleNs), 'sampleNs', 'above 0 and finite', sampleNs);
  demand(initialQueueBytes >= 0 && initialQueueBytes < Infinity, 'initialQueueBytes', '0 or more', initialQueueBytes);
  demand(maxRateBps > 0, 'maxRateBps', 'above 0', maxRateBps);
  const parts = Math.max(1, Math.ceil(feedbackDelayNs / LONGEST_DEFAULT_STEP_NS));
  const { stepNs = feedbackDelayNs > 0 ? feedbackDelayNs / parts : LONGEST_DEFAULT_STEP_NS } = options;
  const longest = feedbackDelayNs > 0 ? feedbackDelayNs : Infinity;
  demand(isPositive(stepNs) && stepNs <= longest, 'stepNs', `above 0 and at most feedbackDelayNs (${longest})`, stepNs);
  const steps = durationNs / stepNs;
  demand(steps <= MAX_STEPS, 'durationNs', `at most ${MAX_STEPS} steps of ${stepNs} ns`, durationNs);
  return stepNs;
}

/** Samples, back in bits and bytes. */
class Recorder {
  readonly #packetBits: number;
  readonly #times: number[] = [];
  readonly #queueBytes: number[] = [];
  readonly #flows: readonly { rateBps: number[]; targetBps: number[]; alpha: number[] }[];

  constructor(packetBits: number, flows: number) {
    this.#packetBits = packetBits;
    this.#flows = Array.from({ length: flows }, () => ({ rateBps: [], targetBps: [], alpha: [] }));
  }

  sample(timeNs: number, state: Float64Array): void {
    this.#times.push(timeNs);
    this.#queueBytes.push(((state[QUEUE] as number) * this.#packetBits) / 8);
    this.#flows.forEach((flow, index) => {
      const at = FIRST_FLOW + index * PER_FLOW;
      flow.rateBps.push((state[at] as number) * this.#packetBits);
      flow.targetBps.push((state[at + 1] as number) * this.#packetBits);
      flow.alpha.push(state[at + 2] as number);
    });
  }

  trace(): FluidTrace {
    const [first = { rateBps: [], targetBps: [], alpha: [] }] = this.#flows;
    return { times: this.#times, queueBytes: this.#queueBytes, ...first, flows: this.#flows };
  }
}

/** Small beside every timer of DCQCN. */
const LONGEST_DEFAULT_STEP_NS = 1000;
/** A limit on work: a hundred seconds in steps of a microsecond. */
const MAX_STEPS = 1e8;
/** So that a duration of a whole number of steps is not cut by one. */
const ROUNDING = 1e-6;
