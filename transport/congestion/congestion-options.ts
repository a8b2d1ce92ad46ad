/**
 * The congestion settings of a device, as plain data that JSON and `postMessage` carry: how its queue pairs react to
 * notifications (reaction point) and what they send when packets arrive marked (notification point). Roles and names:
 * ref:dcqcn#1, ref:dcqcn#2.
 */
import { RoceError } from '../../packets/errors.ts';
import type { MlxParameters, PaperParameters } from './dcqcn-parameters.ts';

/** How queue pairs react to congestion notifications. */
export type ControllerSpec = NoReaction | FixedRateReaction | PaperReaction | MlxReaction;

/** Not at all. */
export interface NoReaction {
  /** Says so. */
  readonly kind: 'none';
}

/** Not at all, but at a rate of their own. */
export interface FixedRateReaction {
  /** Says so. */
  readonly kind: 'fixed-rate';
  /** Bits a second of each queue pair; at the line rate or above it there is no limit. */
  readonly rateBps: number;
}

/** DCQCN as its authors analysed it. */
export interface PaperReaction {
  /** Says so. */
  readonly kind: 'dcqcn';
  /** Says so. */
  readonly profile: 'paper';
  /** What is not `PAPER_DEFAULTS`. */
  readonly parameters?: Partial<PaperParameters>;
}

/** DCQCN as NVIDIA's adapters have it. */
export interface MlxReaction {
  /** Says so. */
  readonly kind: 'dcqcn';
  /** Says so. */
  readonly profile: 'mlx';
  /** What is not `MLX_DEFAULTS`. */
  readonly parameters?: Partial<MlxParameters>;
}

/** What a receiver of marked packets does. */
export interface NotificationParameters {
  /**
   * MIN_TIME_BETWEEN_CNPS: at most one CNP per flow in this time, in nanoseconds. Default 50,000, the paper's; NVIDIA's
   * firmware has 4,000.
   */
  readonly minTimeBetweenCnpsNs: number;
  /**
   * What that time is counted from. 'gap': from the last CNP, so that two are never closer; the default, as NICs and
   * the annex have it. 'period': from the first mark on in periods, of which each has one CNP at most, at its first
   * mark. That is what the fluid model assumes, and what the authors' simulator does with a timer (ref:dcqcn#3,
   * ref:dcqcn#5.1); at the end of a period there, and at once here.
   */
  readonly spacing: 'gap' | 'period';
  /**
   * CNP_DSCP: the DSCP of CNPs, 0..63; on a VLAN its upper three bits are their priority (CNP_802P_PRIO). Default 48,
   * which goes with 6.
   */
  readonly cnpDscp: number;
  /** The BECN bit of CNPs. Default 1, as NVIDIA's devices set it; the annex does not mention it (ref:wire#9). */
  readonly becn: 0 | 1;
  /**
   * 'cnp': by CNPs, as the annex has it; the default. 'ack': no CNPs and no interval; the ACK of a marked packet
   * carries BECN, as in the simulator of HPCC (ref:dcqcn#3). Both ends have to agree on it.
   */
  readonly signal: 'cnp' | 'ack';
}

/** Congestion control of a device. */
export interface CongestionOptions {
  /** Default: none, so that notifications are counted and ignored. */
  readonly reaction?: ControllerSpec;
  /** Default: on. */
  readonly notification?: false | Partial<NotificationParameters>;
  /** Rate of the port in bits a second: what flows start at. Default 10 Gb/s. */
  readonly lineRateBps?: number;
  /** How far a sender that was late may catch up with its rate, in bytes; default 65,536. */
  readonly maxBurstBytes?: number;
}

/** What a receiver of marked packets does by default. */
export const DEFAULT_NOTIFICATION: NotificationParameters = {
  minTimeBetweenCnpsNs: 50_000,
  spacing: 'gap',
  cnpDscp: 48,
  becn: 1,
  signal: 'cnp',
};

/**
 * `DEFAULT_NOTIFICATION` with the given values instead. @throws RoceError ERR_ROCE_ARGUMENT for a number out of range
 */
export function notificationParameters(asked: Partial<NotificationParameters>): NotificationParameters {
  const parameters = { ...DEFAULT_NOTIFICATION, ...asked };
  const { minTimeBetweenCnpsNs, spacing, cnpDscp, becn, signal } = parameters;
  if (!(minTimeBetweenCnpsNs >= 0 && minTimeBetweenCnpsNs < Infinity))
    throw new RoceError('ERR_ROCE_ARGUMENT', `minTimeBetweenCnpsNs is 0 or more, not ${minTimeBetweenCnpsNs}`);
  if (spacing !== 'gap' && spacing !== 'period')
    throw new RoceError('ERR_ROCE_ARGUMENT', `spacing is 'gap' or 'period', not '${spacing}'`);
  if (spacing === 'period' && minTimeBetweenCnpsNs === 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'minTimeBetweenCnpsNs is more than 0 where CNPs are counted by periods');
  if (!Number.isInteger(cnpDscp) || cnpDscp < 0 || cnpDscp > 63)
    throw new RoceError('ERR_ROCE_ARGUMENT', `cnpDscp is a whole number from 0 to 63, not ${cnpDscp}`);
  if (becn !== 0 && becn !== 1) throw new RoceError('ERR_ROCE_ARGUMENT', `becn is 0 or 1, not ${becn}`);
  if (signal !== 'cnp' && signal !== 'ack')
    throw new RoceError('ERR_ROCE_ARGUMENT', `signal is 'cnp' or 'ack', not '${signal}'`);
  return parameters;
}
