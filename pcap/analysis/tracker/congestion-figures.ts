/**
 * Congestion signs in the packets of one end: CE marks, CNPs and their intervals, DSCP. A `CongestionReport` that is
 * always up to date.
 *
 * Owns the figures. Rules: ref:wire#9 (CNP), ref:dcqcn#7 (CNPs of one flow keep a minimum interval). `cnpPacingNs`
 * infers the interval.
 */
import { dscpOf, ECN_MASK, Ecn } from '../../../packets/traffic-class.ts';
import type { CongestionReport, LatencyReport } from '../types.ts';
import { Histogram, latencyOf } from './histogram.ts';

export class CongestionFigures implements CongestionReport {
  notEct = 0;
  ect0 = 0;
  ect1 = 0;
  ce = 0;
  cnpsSent = 0;
  #lastCnpNs = -1;
  #intervals: Histogram | undefined;
  readonly #dscp = new ValueCounts();
  #cnpDscp: ValueCounts | undefined;

  get cnpIntervalNs(): LatencyReport {
    return latencyOf(this.#intervals);
  }

  /** The shortest interval that occurs too often to be chance: in a tenth of all cases, and at least twice. */
  get cnpPacingNs(): number {
    const intervals = this.#intervals;
    if (intervals === undefined || intervals.count < 2) return -1;
    return intervals.shortestRepeated(Math.max(2, intervals.count / 10));
  }

  get dscp(): Readonly<Record<string, number>> {
    return this.#dscp.toRecord();
  }

  get cnpDscp(): Readonly<Record<string, number>> {
    return this.#cnpDscp?.toRecord() ?? {};
  }

  /** A RoCE packet that is no CNP. */
  countData(trafficClass: number): void {
    this.#dscp.add(dscpOf(trafficClass));
    this.#countEcn(trafficClass);
  }

  countCnp(trafficClass: number, timeNs: number): void {
    this.#cnpDscp ??= new ValueCounts();
    this.#cnpDscp.add(dscpOf(trafficClass));
    this.#countEcn(trafficClass);
    this.cnpsSent++;
    if (this.#lastCnpNs >= 0) {
      this.#intervals ??= new Histogram();
      this.#intervals.add(timeNs - this.#lastCnpNs);
    }
    this.#lastCnpNs = timeNs;
  }

  copy(): CongestionFigures {
    const copy = new CongestionFigures();
    copy.absorb(this);
    return copy;
  }

  absorb(other: CongestionFigures): void {
    this.notEct += other.notEct;
    this.ect0 += other.ect0;
    this.ect1 += other.ect1;
    this.ce += other.ce;
    this.cnpsSent += other.cnpsSent;
    this.#dscp.absorb(other.#dscp);
    if (other.#cnpDscp === undefined) return;
    this.#cnpDscp ??= new ValueCounts();
    this.#cnpDscp.absorb(other.#cnpDscp);
    if (this.#lastCnpNs < 0) this.#intervals = other.#intervals;
    this.#lastCnpNs = Math.max(this.#lastCnpNs, other.#lastCnpNs);
  }

  #countEcn(trafficClass: number): void {
    const ecn = trafficClass & ECN_MASK;
    if (ecn === Ecn.NotEct) this.notEct++;
    else if (ecn === Ecn.Ect0) this.ect0++;
    else if (ecn === Ecn.Ect1) this.ect1++;
    else this.ce++;
  }
}

/** The figures as they are, without what makes them. */
export function congestionReport(live: CongestionReport): CongestionReport {
  const { notEct, ect0, ect1, ce, cnpsSent, cnpIntervalNs, cnpPacingNs, dscp, cnpDscp } = live;
  return { notEct, ect0, ect1, ce, cnpsSent, cnpIntervalNs, cnpPacingNs, dscp, cnpDscp };
}

/** How often each of a few small numbers came: nearly always the same as before. */
class ValueCounts {
  #last = -1;
  #lastCount = 0;
  #others: Map<number, number> | undefined;

  absorb(other: ValueCounts): void {
    for (const [text, count] of Object.entries(other.toRecord())) this.add(Number(text), count);
  }

  add(value: number, times = 1): void {
    if (value === this.#last) {
      this.#lastCount += times;
      return;
    }
    if (this.#last >= 0) {
      this.#others ??= new Map();
      this.#others.set(this.#last, this.#lastCount);
    }
    this.#last = value;
    this.#lastCount = (this.#others?.get(value) ?? 0) + times;
  }

  toRecord(): Record<string, number> {
    const counts = new Map(this.#others ?? []);
    if (this.#last >= 0) counts.set(this.#last, this.#lastCount);
    return Object.fromEntries([...counts].sort(([a], [b]) => a - b));
  }
}
