/**
 * Which virtual network a packet is in, and which networks have the packets of one conversation: the same addresses and
 * queue pairs may be those of two tenants.
 *
 * Owns the places that packets are told apart by: a vantage point and a network, which is the VNIs and GRE keys around
 * a packet. Sessions of mirrors, labels, PPPoE and VLAN tags are none: they belong to links, and change on the way. Two
 * networks have the same packets between two addresses
 * - where one has one direction only, and the only other one has the other: each direction has a VNI of its own, as
 *   with asymmetric routing between subnets, or one is captured outside of its tunnel. A response has to fit the
 *   requests there, and a request the responses. It ends when either has both directions.
 * - where a frame of the one was captured in the other just before, and one of the two is no tunnel: a mirror within it
 *   and outside of it. Between two VNIs that proves nothing, for tenants may be clones of each other.
 * While no packet has had a network, it only notes frames.
 */
import type { IpAddress } from '../../../packets/address.ts';
import {
  type Frame,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
} from '../../../packets/frame.ts';
import { type Dissection, IcrcState } from '../../dissection.ts';
import { isVirtualNetwork, type TunnelLayer } from '../../tunnels/index.ts';
import type { ConversationReport } from '../types.ts';
import { pairHash } from './flow-table.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { MOST_VANTAGES } from './vantage-points.ts';

/** A network in which a vantage point has packets between two addresses. */
interface Presence {
  /** Its own place, and the one that its packets belong to: of another presence where they are the same. */
  readonly own: number;
  place: number;
  /** Bits of the directions seen. */
  ways: number;
  joined: Presence | undefined;
  /** It was joined because of equal frames. */
  lasting: boolean;
  /** Packets after which it was compared with the others. */
  looks: number;
}

interface AddressPair {
  readonly one: IpAddress;
  readonly other: IpAddress;
  readonly presences: Presence[];
}

/** What is asked of the tracker. */
export interface NetworkEvidence {
  /** Conversations so far. */
  conversations(): readonly (ConversationReport & { readonly vantage: number })[];
  /** Whether the packet at hand may be one of the other direction at this place: by its PSN, where one has answers. */
  mayBelong(facts: MutableFacts, place: number): boolean;
}

export class VirtualNetworks {
  readonly #evidence: NetworkEvidence;
  /** By the network around it, tunnel and id. */
  readonly #networks = new Map<number, number>();
  readonly #pairs = new Map<number, AddressPair[]>();
  #presences = 0;
  /** Directions of what was seen before there was a network, by vantage point and addresses. */
  #before: Map<string, number> | undefined;
  /** Frames seen last: identity, PSN, queue pair, place. */
  readonly #recent = new Int32Array(4 * RECENT);
  #at = 0;

  constructor(evidence: NetworkEvidence) {
    this.#evidence = evidence;
  }

  /** The place of a packet that this vantage point has seen. */
  placeOf(facts: MutableFacts, vantage: number): number {
    const { dissection } = facts;
    const network = dissection.depth === 0 ? 0 : this.#networkOf(dissection);
    const own = network * MOST_VANTAGES + vantage;
    if (network !== 0) this.#before ??= directionsOf(this.#evidence.conversations());
    // The addresses may be what is damaged.
    if (facts.icrc === IcrcState.Bad) return presenceIn(this.#pairOf(dissection.frame), own)?.place ?? own;
    const place = this.#before === undefined ? own : this.#resolve(facts, own);
    this.#remember(dissection, own);
    return place;
  }

  /**
   * Where other vantage points may have a frame: in its own network, or in the only other one that has its addresses.
   *
   * @param vantages how many there are
   */
  elsewhere(frame: Frame, place: number, vantages: number): readonly number[] {
    if (this.#before === undefined)
      return Array.from({ length: vantages }, (_, each) => each).filter((v) => v !== place);
    const elsewhere = (this.#pairOf(frame)?.presences ?? []).filter(({ own }) => (own - place) % MOST_VANTAGES !== 0);
    const same = elsewhere.filter(({ own }) => networkOf(own) === networkOf(place));
    if (same.length > 0) return same.map((presence) => presence.place);
    const others = new Set(elsewhere.map(({ own }) => networkOf(own)));
    return others.size > 1 ? [] : elsewhere.map((presence) => presence.place);
  }

  #networkOf({ tunnels, depth }: Dissection): number {
    let network = 0;
    for (let i = 0; i < depth; i++) {
      const { tunnel, id } = tunnels[i] as TunnelLayer;
      if (!isVirtualNetwork(tunnel) || id < 0) continue;
      const key = (network * TUNNELS + tunnel) * IDS + id;
      let inner = this.#networks.get(key);
      if (inner === undefined) {
        // More are not distinguished: an attacker may name sixteen million.
        inner = Math.min(this.#networks.size + 1, MOST_NETWORKS);
        if (inner < MOST_NETWORKS) this.#networks.set(key, inner);
      }
      network = inner;
    }
    return network;
  }

  #resolve(facts: MutableFacts, own: number): number {
    const { frame } = facts.dissection;
    const pair = this.#pairOf(frame) ?? this.#addPair(frame);
    if (pair === undefined) return own;
    const way = frameSourceIs(frame, pair.one) ? THERE : BACK;
    const known = presenceIn(pair, own);
    const presence = known ?? this.#addPresence(pair, own);
    if (presence === undefined) return own;
    const isNew = (presence.ways & way) === 0;
    presence.ways |= way;
    if (pair.presences.length === 1 || (presence.looks >= MOST_LOOKS && !isNew)) return presence.place;
    presence.looks++;
    if (!presence.lasting) this.#compare(facts, pair, presence, way);
    return presence.place;
  }

  #addPresence({ presences }: AddressPair, own: number): Presence | undefined {
    if (presences.length >= MOST_BETWEEN_TWO || this.#presences >= MOST_PRESENCES) return undefined;
    this.#presences++;
    const presence = newPresence(own);
    presences.push(presence);
    return presence;
  }

  #compare(facts: MutableFacts, { presences }: AddressPair, presence: Presence, way: number): void {
    const twin = this.#twinOf(facts.dissection, presence.own);
    const same = twin < 0 ? undefined : presences.find(({ own }) => own === twin);
    if (same !== undefined) {
      if (same.joined === presence) same.lasting = true;
      else join(presence, same, true);
      return;
    }
    if (presence.ways === BOTH) {
      for (const each of presences) if (each === presence || each.joined === presence) part(each);
      return;
    }
    if (presence.joined !== undefined || presences.some(({ joined }) => joined === presence)) return;
    const across = presences.filter(
      (each) =>
        each.ways === BOTH - way &&
        (each.own - presence.own) % MOST_VANTAGES === 0 &&
        each.joined === undefined &&
        !presences.some(({ joined }) => joined === each),
    );
    const [only] = across;
    if (only === undefined || across.length > 1) return;
    if (this.#evidence.mayBelong(facts, only.place)) join(presence, only, false);
  }

  /** Where the frame at hand was captured just before, within a tunnel or outside of one; -1: nowhere. */
  #twinOf(dissection: Dissection, own: number): number {
    const { frame } = dissection;
    const recent = this.#recent;
    const identity = identityOf(dissection);
    for (let at = 0; at < recent.length; at += 4) {
      const place = recent[at + 3] as number;
      if (recent[at] !== identity || recent[at + 1] !== frame.psn || recent[at + 2] !== frame.destQpn) continue;
      if (place === own || (place - own) % MOST_VANTAGES !== 0) continue;
      if (networkOf(place) === 0 || networkOf(own) === 0) return place;
    }
    return -1;
  }

  #remember(dissection: Dissection, own: number): void {
    const { frame } = dissection;
    const recent = this.#recent;
    const at = 4 * this.#at;
    recent[at] = identityOf(dissection);
    recent[at + 1] = frame.psn;
    recent[at + 2] = frame.destQpn;
    recent[at + 3] = own;
    this.#at = (this.#at + 1) % RECENT;
  }

  #pairOf(frame: Frame): AddressPair | undefined {
    // Nearly always one: the hashes of two may be the same.
    for (const pair of this.#pairs.get(pairHash(frame, 0)) ?? NO_PAIRS) {
      if (isBetween(frame, pair.one, pair.other) || isBetween(frame, pair.other, pair.one)) return pair;
    }
    return undefined;
  }

  #addPair(frame: Frame): AddressPair | undefined {
    if (this.#presences >= MOST_PRESENCES) return undefined;
    const pair: AddressPair = { one: frameSource(frame), other: frameDestination(frame), presences: [] };
    for (let vantage = 0; vantage < MOST_VANTAGES; vantage++) {
      const there = this.#before?.get(`${vantage} ${pair.one} ${pair.other}`) ?? 0;
      const back = this.#before?.get(`${vantage} ${pair.other} ${pair.one}`) ?? 0;
      if (there + back > 0) pair.presences.push({ ...newPresence(vantage), ways: THERE * there + BACK * back });
    }
    const hash = pairHash(frame, 0);
    const pairs = this.#pairs.get(hash);
    if (pairs === undefined) this.#pairs.set(hash, [pair]);
    else pairs.push(pair);
    return pair;
  }
}

/** 1 for each way that conversations have shown: vantage point, source, destination. */
function directionsOf(conversations: readonly (ConversationReport & { readonly vantage: number })[]): Map<string, 1> {
  const seen = new Map<string, 1>();
  for (const { vantage, ends } of conversations) {
    const [one, other] = ends;
    if (one.packets > 0) seen.set(`${vantage} ${one.address} ${other.address}`, 1);
    if (other.packets > 0) seen.set(`${vantage} ${other.address} ${one.address}`, 1);
  }
  return seen;
}

function isBetween(frame: Frame, source: IpAddress, destination: IpAddress): boolean {
  return frameSourceIs(frame, source) && frameDestinationIs(frame, destination);
}

function newPresence(own: number): Presence {
  return { own, place: own, ways: 0, joined: undefined, lasting: false, looks: 0 };
}

function presenceIn(pair: AddressPair | undefined, own: number): Presence | undefined {
  for (const each of pair?.presences ?? NO_PRESENCES) if (each.own === own) return each;
  return undefined;
}

function join(presence: Presence, to: Presence, lasting: boolean): void {
  presence.joined = to;
  presence.place = to.place;
  presence.lasting = lasting;
}

/** Both of its directions are its own. */
function part(presence: Presence): void {
  if (presence.lasting) return;
  presence.joined = undefined;
  presence.place = presence.own;
}

function networkOf(place: number): number {
  return Math.floor(place / MOST_VANTAGES);
}

/** What a frame has in common with its copy, whatever carries it. */
function identityOf({ cut, ipId, icrcValue, frame }: Dissection): number {
  return cut ? (ipId << 8) | frame.opcode : icrcValue;
}

const NO_PAIRS: readonly AddressPair[] = [];
const NO_PRESENCES: readonly Presence[] = [];
const THERE = 1;
const BACK = 2;
const BOTH = THERE | BACK;
const MOST_NETWORKS = 65_536;
/** In all, and between two addresses. */
const MOST_PRESENCES = 65_536;
const MOST_BETWEEN_TWO = 256;
/** Packets of a network by which it shows whether it has those of another one. */
const MOST_LOOKS = 64;
/** A mirror shows a frame again within so many. */
const RECENT = 256;
/** More than there are kinds of tunnels, and than there are ids. */
const TUNNELS = 32;
const IDS = 0x1_00_00_00_00;
