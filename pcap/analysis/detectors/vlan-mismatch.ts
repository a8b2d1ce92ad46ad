/**
 * Symptom: two hosts send to each other in different VLANs, or one with a tag and the other without.
 *
 * Owns one finding for each pair of hosts, an error: nothing gets through. It needs requests of both hosts that were
 * never answered (`silence-watch.ts`, `missed-pairs.ts`), seen at one place: an interface that shows all packets of one
 * host with other VLAN ids than all packets of the other. Between two interfaces nothing is compared, for switches add
 * and remove tags. There is no finding where anything else between the two stations is answered with the same tags, as
 * other connections, TCP or connection management may be (`tag-witness.ts`): the capture shows only half of the tags
 * then, as on a trunk. A tag without id is none. Rules: ref:analyzer#1 row 21.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { EndReport, TransportEvent } from '../types.ts';
import {
  addressOf,
  type MissedPair,
  type MissedSide,
  macOf,
  missedPairs,
  pairProof,
  pairWords,
  valuesOf,
  worksElsewhere,
} from './missed-pairs.ts';
import { SilenceWatch } from './silence-watch.ts';
import { TagWitness } from './tag-witness.ts';
import { listed } from './words.ts';

export const VLAN_MISMATCH: Symptom = {
  id: 'vlan-mismatch',
  row: 21,
  title: 'Different VLANs',
  complaint:
    'Completion status 12 at both ends with the first requests, though both send and hosts and cables are sound.',
  about:
    'The GID index of a queue pair chooses the network interface too, and with it the VLAN: the GID of eth0.20 sends with tag 20, that of eth0 without one. ' +
    'Where the two ends choose differently, or a switch port puts untagged packets into another VLAN, the packets of each end stay in a VLAN that the other ' +
    'is not in, or its adapter drops them.',
  advice: [
    'Take GIDs of interfaces in the same VLAN at both ends: show_gids names the interface of each index.',
    'Compare the switch ports of both hosts: access or trunk, VLANs allowed, the VLAN of untagged packets.',
  ],
  commands: [
    'show_gids',
    'cat /sys/class/infiniband/DEV/ports/1/gid_attrs/ndevs/INDEX',
    'ip -d link show type vlan',
    'bridge vlan show',
    'tcpdump -ni DEV -e vlan',
  ],
  explains: ['no-reply', 'gid-mismatch'],
  make: () => new VlanMismatch(),
};

class VlanMismatch implements Detector {
  readonly #watch = new SilenceWatch();
  readonly #witness = new TagWitness();

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
    this.#witness.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#watch.event(event);
  }

  finish(context: DetectorContext): void {
    const pairs = missedPairs(this.#watch.silences(context), this.#watch.gids(context), context);
    for (const pair of pairs) {
      const place = placeOfDifference(pair);
      if (place !== undefined && !this.#getsThrough(context, pair, place)) report(context, pair, place);
    }
  }

  /** Whether anything between the two is answered with the same tags. */
  #getsThrough({ conversations }: DetectorContext, pair: MissedPair, { index, there, back }: Place): boolean {
    const [mine, theirs] = [macOf(pair.there), macOf(pair.back)];
    if (this.#witness.saw(index, mine, theirs, there) && this.#witness.saw(index, theirs, mine, back)) return true;
    return worksElsewhere(
      pair,
      conversations,
      (one, other, { interfaceIndex }) =>
        interfaceIndex === index && overlap(one.vlans, there) && overlap(other.vlans, back),
    );
  }
}

/** An interface, and the VLAN ids of what either side sent. */
interface Place {
  readonly index: number;
  readonly there: readonly number[];
  readonly back: readonly number[];
}

/** Undefined where no interface shows a difference, or any shows none. */
function placeOfDifference({ there, back }: MissedPair): Place | undefined {
  let found: Place | undefined;
  for (const index of new Set(there.sightings.map(({ conversation }) => conversation.interfaceIndex))) {
    const place = { index, there: valuesOf(there, vlansOf, index), back: valuesOf(back, vlansOf, index) };
    if (place.back.length === 0) continue;
    if (overlap(place.there, place.back)) return undefined;
    found ??= place;
  }
  return found;
}

function report(context: DetectorContext, pair: MissedPair, { there, back }: Place): void {
  const side = (each: MissedSide, vlans: readonly number[]) => `${addressOf(each)} sends ${vlanWords(vlans)}`;
  context.report({
    severity: 'error',
    text: `${pairWords(pair)}, and their VLANs differ: ${side(pair.there, there)}, ${side(pair.back, back)}.`,
    ...pairProof(pair),
    evidence: {
      hosts: [addressOf(pair.there), addressOf(pair.back)],
      stations: [macOf(pair.there), macOf(pair.back)],
      vlans: [there.map(vlanName).join(' '), back.map(vlanName).join(' ')],
    },
  });
}

function vlansOf({ vlans }: EndReport): readonly number[] {
  return vlans;
}

function overlap(some: readonly number[], others: readonly number[]): boolean {
  return some.some((value) => others.includes(value));
}

function vlanWords(vlans: readonly number[]): string {
  return listed(vlans.map((vlan) => (vlan === 0 ? 'without a tag' : `with VLAN ${vlan}`)));
}

function vlanName(vlan: number): string {
  return vlan === 0 ? 'untagged' : String(vlan);
}
