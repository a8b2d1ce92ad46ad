/**
 * Parameters of DCQCN's reaction point in two profiles that are never mixed: `paper`, the algorithm as its authors
 * analysed it, and `mlx`, the one of NVIDIA's adapters as the simulator of HPCC has it. Owns names, units, defaults,
 * ranges and where each comes from; knows no algorithm. Parameters of the notification point (CNP interval, DSCP) are
 * in `congestion-options.ts`.
 *
 * Sources: ref:dcqcn#2 (tables), ref:dcqcn#4 (the runs of HPCC), NVIDIA's page of DCQCN parameters for the ranges of
 * firmware knobs.
 */
import { RoceError } from '../../packets/errors.ts';

/** The `paper` profile: the symbols of the authors' model. */
export interface PaperParameters {
  /**
   * tau: time between two notifications of a flow, in ns; default 50,000. The notification point holds it; here it only
   * bounds `alphaTimerNs`. 0: unknown, no bound.
   */
  readonly cnpTimerNs: number;
  /**
   * tau': alpha decays once in this time without a notification, in whole ns; default 55,000. Longer than `cnpTimerNs`
   * (ref:dcqcn#1).
   */
  readonly alphaTimerNs: number;
  /** T: time between two increases, in whole ns; default 55,000. Infinity: no timer. */
  readonly rateTimerNs: number;
  /**
   * B: bytes between two increases, from 64; default 10,000,000. 0 or Infinity: no byte counter, and so no hyper
   * increase.
   */
  readonly byteCounterBytes: number;
  /** F: rounds of fast recovery, 0..31; default 5. */
  readonly fastRecoveryStages: number;
  /** g: how fast alpha follows, above 0, at most 1; default 1/256. */
  readonly g: number;
  /** R_AI: growth of the target in additive increase, in bits a second; default 40 Mb/s. */
  readonly aiRateBps: number;
  /**
   * R_HAI: growth of the target in hyper increase, in bits a second; default 40 Mb/s, as R_AI: the authors' model has
   * no hyper increase, and the peers' run against it sets both alike (ref:dcqcn#6.1).
   */
  readonly haiRateBps: number;
  /** A flow is never slower than this, in bits a second; default 10 Mb/s (ref:dcqcn#6.1; the model has no minimum). */
  readonly minRateBps: number;
}

/** The `mlx` profile: names of the sysfs and mlxconfig knobs. Defaults are those of the firmware (ref:dcqcn#2). */
export interface MlxParameters {
  /** CLAMP_TGT_RATE: every cut sets the target to the rate before it; default false. */
  readonly clampTgtRate: boolean;
  /**
   * CLAMP_TGT_RATE_AFTER_TIME_INC: a cut sets the target also when the timer has raised the rate since the last one;
   * default true. When the byte counter has, it always does (ns3-rdma:qbb-net-device.cc#rpr_cnm_received).
   */
  readonly clampTgtRateAfterTimeInc: boolean;
  /** RPG_TIME_RESET: time between two increases, in whole ns; default 300,000 (the knob counts us). */
  readonly rpgTimeResetNs: number;
  /**
   * RPG_BYTE_RESET: bytes between two increases, from 64; default 2,097,088: the knob's 32767 in units of 64 B, which
   * is unverified (ref:dcqcn#2). 0 or Infinity: no byte counter, as in the simulator of HPCC.
   */
  readonly rpgByteResetBytes: number;
  /** RPG_THRESHOLD: rounds of fast recovery before increase becomes additive, 0..31; default 1, older firmware 5. */
  readonly rpgThreshold: number;
  /**
   * RPG_MAX_RATE: a flow that has recovered to this rate is no longer limited, in bits a second; default 0: the rate of
   * the port.
   */
  readonly rpgMaxRateBps: number;
  /** RPG_MIN_RATE: a flow is never slower than this, in bits a second; default 1 Mb/s. */
  readonly rpgMinRateBps: number;
  /** RPG_AI_RATE: growth of the target in additive increase, in bits a second; default 5 Mb/s. */
  readonly rpgAiRateBps: number;
  /** RPG_HAI_RATE: growth of the target in hyper increase, in bits a second; default 50 Mb/s. */
  readonly rpgHaiRateBps: number;
  /**
   * RPG_GD: log2 of what alpha, in 1/1024, is divided by to become the share cut off, 10..11; default 11: a cut takes
   * alpha/2.
   */
  readonly rpgGd: number;
  /** RPG_MIN_DEC_FAC: what a single cut leaves at least, in percent, 0..100; default 50. At 100 nothing is ever cut. */
  readonly rpgMinDecFac: number;
  /**
   * RATE_TO_SET_ON_FIRST_CNP: rate and target after the first notification, in bits a second; default 0: as they are,
   * the line rate.
   */
  readonly rateToSetOnFirstCnpBps: number;
  /** DCE_TCP_G: 1024 (1 - g), 0..1023; default 1019, so g is 5/1024. 1020 is g = 1/256. */
  readonly dceTcpG: number;
  /** DCE_TCP_RTT: alpha is updated once in this time, in whole ns; default 1,000 (the knob counts us). */
  readonly dceTcpRttNs: number;
  /** RATE_REDUCE_MONITOR_PERIOD: at most one cut in this time, in whole ns; default 4,000 (the knob counts us). */
  readonly rateReduceMonitorPeriodNs: number;
  /**
   * INITIAL_ALPHA_VALUE: alpha after the first notification, in 1/1024, 1..1024; default 1023. The knob ends there;
   * 1024 is exactly 1.
   */
  readonly initialAlphaValue: number;
}

/** The authors' MATLAB files (ref:dcqcn#2); what these lack is said at the field. */
export const PAPER_DEFAULTS: PaperParameters = {
  cnpTimerNs: 50_000,
  alphaTimerNs: 55_000,
  rateTimerNs: 55_000,
  byteCounterBytes: 10_000_000,
  fastRecoveryStages: 5,
  g: 1 / 256,
  aiRateBps: 40e6,
  haiRateBps: 40e6,
  minRateBps: 10e6,
};

/** The firmware's defaults (ref:dcqcn#2). */
export const MLX_DEFAULTS: MlxParameters = {
  clampTgtRate: false,
  clampTgtRateAfterTimeInc: true,
  rpgTimeResetNs: 300_000,
  rpgByteResetBytes: 32_767 * 64,
  rpgThreshold: 1,
  rpgMaxRateBps: 0,
  rpgMinRateBps: 1e6,
  rpgAiRateBps: 5e6,
  rpgHaiRateBps: 50e6,
  rpgGd: 11,
  rpgMinDecFac: 50,
  rateToSetOnFirstCnpBps: 0,
  dceTcpG: 1019,
  dceTcpRttNs: 1_000,
  rateReduceMonitorPeriodNs: 4_000,
  initialAlphaValue: 1023,
};

/**
 * What `mlx` needs to be the reaction point of the HPCC simulator's runs on a port of this rate (ref:dcqcn#3,
 * ref:dcqcn#4): no byte counter, alpha exactly 1 at the start, g 1/256, minimum 1 Gb/s, increments of 5 and 50 Mb/s for
 * each 25 Gb/s of the port. `timers`: 'mlx' updates alpha every us, cuts at most every 4 us and raises every 300 us;
 * 'paper' has 50, 50 and 55 us, and is the algorithm of `mlx` all the same. Notifications come with ACKs there
 * (`NotificationParameters.signal`).
 */
export function hpccParameters(lineRateBps: number, timers: 'mlx' | 'paper'): Partial<MlxParameters> {
  return {
    rpgByteResetBytes: 0,
    rpgMinRateBps: 1e9,
    rpgAiRateBps: lineRateBps / 5_000,
    rpgHaiRateBps: lineRateBps / 500,
    dceTcpG: 1020,
    initialAlphaValue: 1024,
    dceTcpRttNs: timers === 'mlx' ? 1_000 : 50_000,
    rateReduceMonitorPeriodNs: timers === 'mlx' ? 4_000 : 50_000,
    rpgTimeResetNs: timers === 'mlx' ? 300_000 : 55_000,
  };
}

/**
 * `PAPER_DEFAULTS` with the given values instead, for a port of this rate.
 * @throws RoceError ERR_ROCE_ARGUMENT naming the parameter that is unknown or out of range
 */
export function paperParameters(asked: Partial<PaperParameters>, lineRateBps: number): PaperParameters {
  const parameters = merge('paper', PAPER_DEFAULTS, asked);
  const check = (name: keyof PaperParameters, low: number, high: number, whole = false) =>
    checkRange('paper', name, parameters[name], low, high, whole);
  check('cnpTimerNs', 0, MAX_TIME_NS);
  check('alphaTimerNs', 1, MAX_TIME_NS, true);
  if (parameters.alphaTimerNs <= parameters.cnpTimerNs)
    throw outOfRange(
      'paper',
      'alphaTimerNs',
      `longer than cnpTimerNs (${parameters.cnpTimerNs})`,
      parameters.alphaTimerNs,
    );
  if (parameters.rateTimerNs !== Infinity) check('rateTimerNs', 1, MAX_TIME_NS, true);
  if (!isAbsent(parameters.byteCounterBytes)) check('byteCounterBytes', MIN_BYTE_COUNTER, Number.MAX_SAFE_INTEGER);
  check('fastRecoveryStages', 0, MAX_STAGES, true);
  check('g', Number.MIN_VALUE, 1);
  check('aiRateBps', 0, Number.MAX_SAFE_INTEGER);
  check('haiRateBps', 0, Number.MAX_SAFE_INTEGER);
  check('minRateBps', 1, lineRateBps);
  return parameters;
}

/**
 * `MLX_DEFAULTS` with the given values instead, for a port of this rate.
 * @throws RoceError ERR_ROCE_ARGUMENT naming the parameter that is unknown or out of range
 */
export function mlxParameters(asked: Partial<MlxParameters>, lineRateBps: number): MlxParameters {
  const parameters = merge('mlx', MLX_DEFAULTS, asked);
  const check = (name: keyof MlxParameters, low: number, high: number, whole = false) =>
    checkRange('mlx', name, parameters[name], low, high, whole);
  checkFlag('clampTgtRate', parameters.clampTgtRate);
  checkFlag('clampTgtRateAfterTimeInc', parameters.clampTgtRateAfterTimeInc);
  check('rpgTimeResetNs', 1, MAX_TIME_NS, true);
  if (!isAbsent(parameters.rpgByteResetBytes)) check('rpgByteResetBytes', MIN_BYTE_COUNTER, Number.MAX_SAFE_INTEGER);
  check('rpgThreshold', 0, MAX_STAGES, true);
  check('rpgMaxRateBps', 0, Number.MAX_SAFE_INTEGER);
  check('rpgMinRateBps', 1, Math.min(lineRateBps, parameters.rpgMaxRateBps || Infinity));
  check('rpgAiRateBps', 0, Number.MAX_SAFE_INTEGER);
  check('rpgHaiRateBps', 0, Number.MAX_SAFE_INTEGER);
  check('rpgGd', 10, 11, true);
  check('rpgMinDecFac', 0, 100);
  check('rateToSetOnFirstCnpBps', 0, lineRateBps);
  check('dceTcpG', 0, 1023, true);
  check('dceTcpRttNs', 1, MAX_TIME_NS, true);
  check('rateReduceMonitorPeriodNs', 1, MAX_TIME_NS, true);
  check('initialAlphaValue', 1, 1024, true);
  return parameters;
}

/** True for the values of a byte counter that mean: there is none. */
export function isAbsent(byteCounterBytes: number): boolean {
  return byteCounterBytes === 0 || byteCounterBytes === Infinity;
}

function merge<T extends object>(profile: string, defaults: T, asked: Partial<T>): T {
  for (const name of Object.keys(asked))
    if (!Object.hasOwn(defaults, name))
      throw new RoceError('ERR_ROCE_ARGUMENT', `the ${profile} profile of DCQCN has no parameter '${name}'`);
  return { ...defaults, ...asked };
}

function checkFlag(name: keyof MlxParameters, value: unknown): void {
  if (typeof value !== 'boolean') throw outOfRange('mlx', name, 'true or false', value);
}

function checkRange(profile: string, name: string, value: unknown, low: number, high: number, whole: boolean): void {
  if (typeof value === 'number' && value >= low && value <= high && (!whole || Number.isInteger(value))) return;
  throw outOfRange(profile, name, `${whole ? 'a whole number' : 'a number'} from ${low} to ${high}`, value);
}

function outOfRange(profile: string, name: string, range: string, value: unknown): RoceError {
  return new RoceError('ERR_ROCE_ARGUMENT', `${name} of DCQCN's ${profile} profile is ${range}, not ${String(value)}`);
}

/** Eleven days: far beyond every knob, and sums of times stay exact. */
const MAX_TIME_NS = 1e15;
const MAX_STAGES = 31;
/** The unit of RPG_BYTE_RESET: a frame is never more than a few of it. */
const MIN_BYTE_COUNTER = 64;
