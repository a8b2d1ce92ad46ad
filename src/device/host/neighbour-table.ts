/**
 * The table of neighbours: which MAC address each next hop has, since when it is known, and the solicitations under
 * way.
 *
 * Owns entries and their ageing; each table and queue has a bound. Never sees a frame: `neighbours.ts` passes on
 * received addresses and sends the solicitations. An entry is reachable for 30 s. After that it is stale but still
 * used, and its next use solicits again: unicast three times, a second apart, then multicast three times; it is dropped
 * when no answer comes. So an unused neighbour costs no packet, and one that moved is found. When a queue pair or the
 * connection manager gets no answer from its peer, multicast solicitations begin at once. Static entries are never
 * solicited, changed or dropped.
 * Sources: RFC 4861 section 10 (REACHABLE_TIME 30 s without its random factor, so that runs repeat; RETRANS_TIMER 1 s;
 * MAX_UNICAST_SOLICIT and MAX_MULTICAST_SOLICIT 3), the same for ARP, as Linux has it; RFC 7048 (a stale address is
 * used during multicast solicitation). The state DELAY is left out: 5 s of waiting for hints that we do not take.
 * Bounds are ours.
 */
import type { IpAddress, MacAddress } from '../../../packets/address.ts';

/** The end of a `resolve`: `mac` is undefined when no answer came or there is no route. */
export interface Resolution {
  /** The address that was resolved, which may be behind the gateway. */
  readonly address: IpAddress;
  /** Of the next hop; undefined: nothing answered, or no way leads there. */
  readonly mac: MacAddress | undefined;
}

/** A solicitation to send: multicast, or unicast to the present MAC address of `target`. */
export interface Solicitation {
  readonly target: IpAddress;
  readonly mac: MacAddress | undefined;
}

export interface NeighbourTableCounters {
  /** Resolved, or received from, for the first time. */
  learnt: number;
  /** Resolved to another MAC address than before. */
  moved: number;
  /** Dropped because no answer came any more. */
  lost: number;
}

interface Entry {
  readonly address: IpAddress;
  mac: MacAddress | undefined;
  /** When the next use solicits again. */
  staleAt: number;
  /** Addresses behind this next hop that wait for its resolution. */
  readonly waiting: IpAddress[];
  /** When the solicitation is repeated or given up; Infinity when none is under way. */
  deadline: number;
  /** Solicitations left: first unicast, then multicast. */
  unicast: number;
  multicast: number;
  /** Whether the next solicitation is multicast; of the present one when none is due. */
  multicastNext: boolean;
  questionDue: boolean;
}

export class NeighbourTable {
  readonly #counters: NeighbourTableCounters;
  readonly #maxEntries: number;
  readonly #static = new Map<string, MacAddress>();
  /** In the order of the last confirmation, so that the first is the one to drop. */
  readonly #table = new Map<string, Entry>();
  readonly #asking = new Set<Entry>();
  readonly #resolved: Resolution[] = [];
  readonly #moved: IpAddress[] = [];
  #nextDeadline = Infinity;

  constructor(counters: NeighbourTableCounters, maxEntries: number) {
    this.#counters = counters;
    this.#maxEntries = maxEntries;
  }

  /** Sets an entry that nothing changes. */
  setStatic(address: IpAddress, mac: MacAddress): void {
    this.#static.set(keyOf(address), mac);
  }

  isStatic(address: IpAddress): boolean {
    return this.#static.has(keyOf(address));
  }

  lookup(hop: IpAddress): MacAddress | undefined {
    const key = keyOf(hop);
    return this.#static.get(key) ?? this.#table.get(key)?.mac;
  }

  /** Resolves the unknown next hop `hop` of `address`; `pollResolved` returns the result. */
  resolve(now: number, hop: IpAddress, address: IpAddress): void {
    const entry = this.#table.get(keyOf(hop)) ?? this.#open(now, hop);
    if (entry === undefined || entry.waiting.length >= MAX_WAITING) this.settle(address, undefined);
    else if (!entry.waiting.some((waiting) => waiting.equals(address))) entry.waiting.push(address);
  }

  /** A result without a solicitation. */
  settle(address: IpAddress, mac: MacAddress | undefined): void {
    this.#resolved.push({ address, mac });
  }

  /** Packets go to `hop`: solicits again when the entry is stale. Returns when to call this again. */
  use(now: number, hop: IpAddress): number {
    if (this.isStatic(hop)) return Infinity;
    const entry = this.#table.get(keyOf(hop)) ?? this.#open(now, hop);
    if (entry === undefined) return now + RETRY_NS;
    if (this.#asking.has(entry)) return entry.deadline;
    if (now < entry.staleAt) return entry.staleAt;
    this.#ask(now, entry, MAX_UNICAST);
    return entry.deadline;
  }

  /**
   * Packets to `hop` draw no answer: it may have moved. Sends multicast solicitations, unless a packet came from it or
   * a solicitation was sent in the last second.
   */
  doubt(now: number, hop: IpAddress): void {
    const entry = this.#table.get(keyOf(hop));
    if (entry?.mac === undefined || now < entry.staleAt - REACHABLE_NS + RETRY_NS) return;
    if (!this.#asking.has(entry)) this.#ask(now, entry, 0);
    else if (entry.unicast > 0 || !entry.multicastNext) this.#repeat(now, entry, 0);
  }

  /** Drops the entry of `hop`, so that `resolve` solicits again; a static entry stays. */
  forget(hop: IpAddress): void {
    const entry = this.#table.get(keyOf(hop));
    if (entry?.mac !== undefined) this.#remove(entry);
  }

  /**
   * A neighbour's address was received.
   * @param mayLearn add an entry although none was solicited
   * @param override replaces another address that is known already (RFC 4861 7.2.5)
   */
  hear(now: number, address: IpAddress, mac: MacAddress, mayLearn: boolean, override: boolean): void {
    const key = keyOf(address);
    if (this.#static.has(key)) return;
    let entry = this.#table.get(key);
    if (entry === undefined) {
      if (!mayLearn || !this.#makeRoom()) return;
      entry = newEntry(address);
    }
    const before = entry.mac;
    const same = before !== undefined && sameMac(before, mac);
    if (before !== undefined && !same && !override) return;
    entry.mac = mac;
    entry.staleAt = now + REACHABLE_NS;
    this.#table.delete(key);
    this.#table.set(key, entry);
    if (this.#asking.has(entry)) this.#finish(entry);
    if (same) return;
    this.#counters[before === undefined ? 'learnt' : 'moved'] += 1;
    this.#moved.push(address);
  }

  /** The next solicitation to send, once; undefined when there is none. */
  takeSolicitation(): Solicitation | undefined {
    for (const entry of this.#asking) {
      if (!entry.questionDue) continue;
      entry.questionDue = false;
      return { target: entry.address, mac: entry.multicastNext ? undefined : entry.mac };
    }
    return undefined;
  }

  /** Whether `takeSolicitation` has one. */
  get hasSolicitation(): boolean {
    for (const entry of this.#asking) if (entry.questionDue) return true;
    return false;
  }

  /** When a solicitation is repeated or given up; Infinity when none is under way. */
  nextDeadline(): number {
    return this.#nextDeadline;
  }

  handleTimeouts(now: number): void {
    if (now < this.#nextDeadline) return;
    for (const entry of this.#asking) {
      if (entry.deadline > now) continue;
      if (entry.unicast + entry.multicast > 0) this.#repeat(now, entry, entry.unicast);
      else this.#giveUp(entry);
    }
    this.#updateDeadline();
  }

  /** The next finished resolution, once; undefined when there is none. */
  pollResolved(): Resolution | undefined {
    return this.#resolved.shift();
  }

  /** The next hop whose MAC address is new, once; undefined when there is none. */
  pollMoved(): IpAddress | undefined {
    return this.#moved.shift();
  }

  /** A new entry with multicast solicitations, or undefined when there is no room for one. */
  #open(now: number, hop: IpAddress): Entry | undefined {
    if (!this.#makeRoom()) return undefined;
    const entry = newEntry(hop);
    this.#table.set(keyOf(hop), entry);
    this.#ask(now, entry, 0);
    return entry;
  }

  #ask(now: number, entry: Entry, unicast: number): void {
    entry.multicast = MAX_MULTICAST;
    this.#asking.add(entry);
    this.#repeat(now, entry, unicast);
  }

  #repeat(now: number, entry: Entry, unicast: number): void {
    entry.multicastNext = unicast === 0;
    entry.unicast = Math.max(0, unicast - 1);
    if (entry.multicastNext) entry.multicast -= 1;
    entry.questionDue = true;
    entry.deadline = now + RETRY_NS;
    this.#updateDeadline();
  }

  #giveUp(entry: Entry): void {
    if (entry.mac !== undefined) this.#counters.lost += 1;
    entry.mac = undefined;
    this.#table.delete(keyOf(entry.address));
    this.#finish(entry);
  }

  #finish(entry: Entry): void {
    this.#asking.delete(entry);
    entry.deadline = Infinity;
    entry.questionDue = false;
    for (const address of entry.waiting) this.#resolved.push({ address, mac: entry.mac });
    entry.waiting.length = 0;
    this.#updateDeadline();
  }

  #remove(entry: Entry): void {
    this.#table.delete(keyOf(entry.address));
    this.#finish(entry);
  }

  /** Drops the entry confirmed longest ago; unresolved entries stay. */
  #makeRoom(): boolean {
    if (this.#table.size < this.#maxEntries) return true;
    for (const entry of this.#table.values()) {
      if (entry.mac === undefined) continue;
      this.#remove(entry);
      return true;
    }
    return false;
  }

  #updateDeadline(): void {
    this.#nextDeadline = Infinity;
    for (const entry of this.#asking) this.#nextDeadline = Math.min(this.#nextDeadline, entry.deadline);
  }
}

/** Addresses as keys of a map. */
export function keyOf({ version, w0, w1, w2, w3 }: IpAddress): string {
  return version === 4 ? `${w3}` : `${w0}:${w1}:${w2}:${w3}`;
}

export function sameMac(a: MacAddress, b: MacAddress): boolean {
  return a.every((byte, index) => byte === b[index]);
}

function newEntry(address: IpAddress): Entry {
  return {
    address,
    mac: undefined,
    staleAt: 0,
    waiting: [],
    deadline: Infinity,
    unicast: 0,
    multicast: 0,
    multicastNext: true,
    questionDue: false,
  };
}

const REACHABLE_NS = 30e9;
const RETRY_NS = 1e9;
const MAX_UNICAST = 3;
const MAX_MULTICAST = 3;
/** Destinations that wait behind one next hop. */
const MAX_WAITING = 256;
