/**
 * Symptom: the P_Keys of two hosts do not match: they name different partitions, or both hosts are limited members.
 *
 * Owns one finding for each pair of hosts, an error: nothing gets through. It needs requests of both hosts that were
 * never answered (`silence-watch.ts`, `missed-pairs.ts`), and no P_Key of the one may match any of the other. There is
 * no finding where other connections between the two are answered with such P_Keys: adapters that do not check them
 * exist. Rules: ref:analyzer#1 row 22, ref:rxe#7 (membership).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { EndReport, TransportEvent } from '../types.ts';
import {
  addressOf,
  type MissedPair,
  missedPairs,
  pairProof,
  pairWords,
  valuesOf,
  worksElsewhere,
} from './missed-pairs.ts';
import { SilenceWatch } from './silence-watch.ts';
import { listed } from './words.ts';

export const PKEY_MISMATCH: Symptom = {
  id: 'pkey-mismatch',
  row: 22,
  title: 'P_Keys that do not match',
  complaint: 'Completion status 12 at both ends with the first requests; bad_pkey_cntr of the port grows.',
  about:
    'Every packet carries the P_Key of its sender: the partition in the lower 15 bits, full membership in the top one. A receiver drops it silently unless ' +
    'the partition is that of its queue pair and at least one of the two is a full member. 0xffff, full member of the default partition, is what RoCE ' +
    'uses nearly everywhere; 0x7fff is its limited member, and two of these do not match.',
  advice: [
    'Use the P_Key index of 0xffff at both ends (index 0 as a rule): pkey_index of the queue pair, --pkey_index of perftest.',
    'Where partitions are wanted, give both ends the same one, and make at least one end a full member.',
  ],
  commands: [
    'grep -H . /sys/class/infiniband/DEV/ports/1/pkeys/*',
    'ibv_devinfo -v | grep -i pkey',
    'rdma resource show qp',
  ],
  explains: ['no-reply', 'rule/p-key'],
  make: () => new PkeyMismatch(),
};

class PkeyMismatch implements Detector {
  readonly #watch = new SilenceWatch();

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#watch.event(event);
  }

  finish(context: DetectorContext): void {
    for (const pair of missedPairs(this.#watch.silences(context), [], context)) {
      const [there, back] = [valuesOf(pair.there, pkeysOf), valuesOf(pair.back, pkeysOf)];
      if (there.length === 0 || back.length === 0 || anyMatch(there, back)) continue;
      const works = worksElsewhere(
        pair,
        context.conversations,
        (one, other) => one.pkeys.length > 0 && other.pkeys.length > 0 && !anyMatch(one.pkeys, other.pkeys),
      );
      if (!works) report(context, pair, there, back);
    }
  }
}

function report(context: DetectorContext, pair: MissedPair, there: readonly number[], back: readonly number[]): void {
  const samePartition = there.some((one) => back.some((other) => partitionOf(one) === partitionOf(other)));
  const why = samePartition
    ? 'both are limited members, and only a full member reaches a limited one'
    : 'these are different partitions';
  context.report({
    severity: 'error',
    text:
      `${pairWords(pair)}, and their P_Keys do not match: ${addressOf(pair.there)} sends with ${pkeyWords(there)}, ` +
      `${addressOf(pair.back)} with ${pkeyWords(back)}; ${why}.`,
    ...pairProof(pair),
    evidence: {
      hosts: [addressOf(pair.there), addressOf(pair.back)],
      pkeys: [pkeyWords(there), pkeyWords(back)],
      cause: samePartition ? 'both limited' : 'partitions',
    },
  });
}

function pkeysOf({ pkeys }: EndReport): readonly number[] {
  return pkeys;
}

function anyMatch(some: readonly number[], others: readonly number[]): boolean {
  return some.some((one) => others.some((other) => pkeysMatch(one, other)));
}

/** The same partition, and at least one full member. */
function pkeysMatch(one: number, other: number): boolean {
  return partitionOf(one) === partitionOf(other) && ((one | other) & FULL_MEMBER) !== 0;
}

function partitionOf(pkey: number): number {
  return pkey & ~FULL_MEMBER;
}

function pkeyWords(pkeys: readonly number[]): string {
  return listed(pkeys.map((pkey) => `0x${pkey.toString(16).padStart(4, '0')}`));
}

const FULL_MEMBER = 0x80_00;
