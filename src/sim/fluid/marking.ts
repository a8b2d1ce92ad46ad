/**
 * What a share of marked packets does to a sender: the terms a, b, c, d, e and alpha* that all of ref:dcqcn#5 is
 * written in. Owns their numerics and the RED curve. Has no notion of time.
 *
 * Every packet is marked with probability p by itself, so n packets in a row stay unmarked with (1-p)^n. Written as
 * exp(-x n) with x = -ln(1-p), the *marking exponent*, this keeps its precision where p is 1e-8 and (1-p)^n would be
 * rounded to 1, and p = 1, which is what RED does above Kmax, is nothing special: x = Infinity.
 */
import type { PacketUnits } from './parameters.ts';

/** x = -ln(1-p) of a marking probability p in 0..1; Infinity for 1. */
export function markingExponent(p: number): number {
  return -Math.log1p(-p);
}

/** p = 1 - exp(-x), the inverse of `markingExponent`. */
export function markingProbability(x: number): number {
  return -Math.expm1(-x);
}

/** RED on the queue as it is now, both in packets: p of ref:dcqcn#1, role CP. Beyond Kmax it jumps from Pmax to 1. */
export function redProbability(queue: number, { kmin, kmax, pmax }: PacketUnits): number {
  if (queue <= kmin) return 0;
  return queue > kmax ? 1 : (pmax * (queue - kmin)) / (kmax - kmin);
}

/**
 * Chance that at least one of `packets` packets is marked: 1 - (1-p)^n.
 * With the packets of tau this is a, the chance of a CNP; with those of tau' it is where alpha tends to (alpha*).
 */
export function markedWithin(x: number, packets: number): number {
  return -Math.expm1(-x * packets);
}

/**
 * Increases per packet sent, where one is due after every `packets` packets of which none led to a CNP: p / ((1-p)^-n -
 * 1). With the packets of the byte counter this is b, with those of the timer it is d. Without marks it is 1/n.
 */
export function increasesPerPacket(x: number, packets: number): number {
  return x === 0 ? 1 / packets : markingProbability(x) / Math.expm1(x * packets);
}

/**
 * Of these, the ones that come after `stages` others and so raise the target rate: (1-p)^(F n) times as many.
 * With the byte counter this is c, with the timer e.
 */
export function additiveIncreasesPerPacket(x: number, packets: number, stages: number): number {
  return x === 0 ? 1 / packets : Math.exp(-x * packets * stages) * increasesPerPacket(x, packets);
}

/** The terms of ref:dcqcn#5.1 for one marking exponent and one rate. */
export interface MarkingTerms {
  /** Chance of a CNP in one CNP interval. */
  readonly a: number;
  /** Increases per packet by the byte counter. */
  readonly b: number;
  /** Additive increases per packet by the byte counter. */
  readonly c: number;
  /** Increases per packet by the timer. */
  readonly d: number;
  /** Additive increases per packet by the timer. */
  readonly e: number;
  /** Where alpha tends to: the chance of a CNP in one alpha interval. */
  readonly alpha: number;
}

/** All terms for marking exponent `x` and `rate` packets a second, above 0. */
export function markingTerms(x: number, rate: number, units: PacketUnits): MarkingTerms {
  const { byteCounter, timer, stages, cnpTimer, alphaTimer } = units;
  return {
    a: markedWithin(x, cnpTimer * rate),
    b: increasesPerPacket(x, byteCounter),
    c: additiveIncreasesPerPacket(x, byteCounter, stages),
    d: increasesPerPacket(x, timer * rate),
    e: additiveIncreasesPerPacket(x, timer * rate, stages),
    alpha: markedWithin(x, alphaTimer * rate),
  };
}
