/**
 * How large flows are: published distributions as tables, and what can be computed of one. A distribution is its
 * cumulative probability at some sizes with straight lines between them. Owns the tables; draws with the randomness it
 * is given. Source of both tables: the traffic generator published with HPCC (Li et al., SIGCOMM 2019;
 * alibaba-edu/High-Precision-Congestion-Control, traffic_gen/WebSearch_distribution.txt and FbHdp_distribution.txt), in
 * per cent there.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { Random } from '../../../transport/random.ts';

/** Sizes of flows. */
export interface SizeDistribution {
  /** Display name. */
  readonly name: string;
  /** Bytes and the share of flows, 0..1, that are no larger; both ascend, from share 0 to share 1. */
  readonly points: readonly (readonly [bytes: number, share: number])[];
}

/** Web search: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010. Mean 1,711,250 bytes. */
export const WEB_SEARCH: SizeDistribution = {
  name: 'web-search',
  points: [
    [0, 0],
    [10_000, 0.15],
    [20_000, 0.2],
    [30_000, 0.3],
    [50_000, 0.4],
    [80_000, 0.53],
    [200_000, 0.6],
    [1_000_000, 0.7],
    [2_000_000, 0.8],
    [5_000_000, 0.9],
    [10_000_000, 0.97],
    [30_000_000, 1],
  ],
};

/**
 * A Hadoop cluster: Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015. Half of the flows
 * have 700 bytes or less.
 */
export const FACEBOOK_HADOOP: SizeDistribution = {
  name: 'hadoop',
  points: [
    [0, 0],
    [100, 0.01],
    [200, 0.02],
    [300, 0.05],
    [350, 0.15],
    [400, 0.2],
    [500, 0.3],
    [600, 0.4],
    [700, 0.5],
    [1_000, 0.6],
    [2_000, 0.67],
    [7_000, 0.7],
    [30_000, 0.72],
    [50_000, 0.82],
    [80_000, 0.87],
    [120_000, 0.9],
    [300_000, 0.95],
    [1_000_000, 0.975],
    [2_000_000, 0.99],
    [10_000_000, 1],
  ],
};

/** By name. */
export const SIZE_DISTRIBUTIONS: readonly SizeDistribution[] = [WEB_SEARCH, FACEBOOK_HADOOP];

/** The distribution of a name. @throws RoceError ERR_ROCE_ARGUMENT for a name that is none */
export function sizeDistribution(name: string): SizeDistribution {
  const found = SIZE_DISTRIBUTIONS.find((distribution) => distribution.name === name);
  if (found !== undefined) return found;
  const known = SIZE_DISTRIBUTIONS.map((distribution) => distribution.name).join(', ');
  throw new RoceError('ERR_ROCE_ARGUMENT', `there is no size distribution ${JSON.stringify(name)}; there is ${known}`);
}

/** Every flow has this size. @throws RoceError ERR_ROCE_ARGUMENT unless it is a whole number from 1 */
export function fixedSize(bytes: number): SizeDistribution {
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw new RoceError('ERR_ROCE_ARGUMENT', `a flow has 1 byte or more, not ${bytes}`);
  return {
    name: `${bytes} bytes`,
    points: [
      [bytes, 0],
      [bytes, 1],
    ],
  };
}

/** Hands a distribution back when it is one. @throws RoceError ERR_ROCE_ARGUMENT naming the point that is wrong */
export function checkDistribution(distribution: SizeDistribution): SizeDistribution {
  const { points } = distribution;
  const refuse = (why: string): never => {
    throw new RoceError('ERR_ROCE_ARGUMENT', `size distribution ${distribution.name}: ${why}`);
  };
  if (points.length < 2) refuse('it has 2 points or more');
  points.forEach(([bytes, share], index) => {
    const [lastBytes, lastShare] = points[index - 1] ?? [0, 0];
    if (!(bytes >= lastBytes && bytes < Infinity))
      refuse(`points[${index}]: sizes ascend from 0, and ${bytes} does not`);
    if (!(share >= lastShare && share <= 1))
      refuse(`points[${index}]: shares ascend from 0 to 1, and ${share} does not`);
  });
  if (points[0]?.[1] !== 0) refuse('points[0]: the first share is 0');
  if (points.at(-1)?.[1] !== 1) refuse(`points[${points.length - 1}]: the last share is 1`);
  return distribution;
}

/** Mean size in bytes: with straight lines between points the flows of a piece average to its middle. */
export function meanBytes({ points }: SizeDistribution): number {
  let sum = 0;
  for (let i = 1; i < points.length; i++) {
    const [fromBytes, fromShare] = points[i - 1] ?? [0, 0];
    const [toBytes, toShare] = points[i] ?? [0, 0];
    sum += ((fromBytes + toBytes) / 2) * (toShare - fromShare);
  }
  return sum;
}

/** The size that a share of flows, 0..1, does not exceed; at least one byte, and a whole number of them. */
export function quantileBytes({ points }: SizeDistribution, share: number): number {
  let at = 1;
  while (at < points.length - 1 && share > (points[at]?.[1] ?? 1)) at++;
  const [fromBytes, fromShare] = points[at - 1] ?? [0, 0];
  const [toBytes, toShare] = points[at] ?? [0, 1];
  const part = toShare > fromShare ? (share - fromShare) / (toShare - fromShare) : 1;
  return Math.max(1, Math.round(fromBytes + (toBytes - fromBytes) * part));
}

/** One size by chance. */
export function drawBytes(distribution: SizeDistribution, random: Random): number {
  return quantileBytes(distribution, uniform(random));
}

/** A uniform number over 0 and under 1. */
export function uniform(random: Random): number {
  return (random.u32() + 0.5) / 0x1_00_00_00_00;
}
