/**
 * The table of neighbours: which MAC address each next hop has, since when it is known, and the solicitations under
 * way.
 *
 * Owns entries and their ageing; each table and queue has a bound. Never sees a frame: `neighbours.ts` passes on
 * received addresses and sends the solicitations. An entry is reachable for 30 s. After that it is stale but still
 * used, and its next use solicits again: unicast three times, a second apart, then multicast three times; it is dropped
 * when no answer comes. So an unused neighbour costs no packet, and one that moved is found. Static entries are never
 * solicited, changed or dropped.
 *
 * A received frame does not replace a known MAC address (ref:hostile#3). It begins a probe: three unicast solicitations
 * to the known address, a quarter of a second apart. Only when these stay without an answer, a multicast solicitation
 * follows, and the first answer to that counts. The same probe begins when a queue pair or the connection manager gets
 * no answer from its peer. So a neighbour that moved and announced it is found after 0.75 s, 1.75 s when another probe
 * began in the last second, and the real neighbour keeps its entry for as long as it answers.
 *
 * Entries are the host's own (resolved for it, or used by its queue pairs) or those of strangers: senders of
 * solicitations to us, and addresses that only an answer to a stranger needs. Strangers displace strangers alone.
 * Bounds: `maxEntries` entries, about 300 bytes each, and beside them `maxStrangers` unresolved ones of strangers.
 * Sources: RFC 4861 section 10 (REACHABLE_TIME 30 s without its random factor, so that runs repeat; RETRANS_TIMER 1 s;
 * MAX_UNICAST_SOLICIT and MAX_MULTICAST_SOLICIT 3), the same for ARP, as Linux has it; RFC 7048 (a stale address is
 * used during multicast solicitation). The state DELAY is left out: 5 s of waiting for hints that we do not take.
 * RFC 4861 7.2.5 would take an unsolicited address at once. Bounds and the interval of probes are ours.
 */
import type { IpAddress, MacAddress } from '../../../packets/address.ts';
import {
  type Entry,
  keyOf,
  type NeighbourTableOptions,
  newEntry,
  RETRY_NS,
  type ResolutionNeed,
  sameMac,
} from './neighbour-entry.ts';

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
  /** Frames that name another MAC address than the known one. */
  claims: number;
  /** Probes that the known address has answered, after such a frame. */
  claimsRefuted: number;
  /** Resolutions refused, and solicitations not noted, because strangers have used up their share. */
  strangersDropped: number;
}

export class NeighbourTable {
  readonly #counters: NeighbourTableCounters;
  readonly #options: NeighbourTableOptions;
  readonly #static = new Map<string, MacAddress>();
  /** In the order of the last confirmation, so that the first is the one to drop. */
  readonly #table = new Map<string, Entry>();
  /** Next hops of connected queue pairs and address handles. */
  readonly #held = new Set<string>();
  readonly #asking = new Set<Entry>();
  readonly #resolved: Resolution[] = [];
  readonly #moved: IpAddress[] = [];
  /** Entries that are `strange`. */
  #strangers = 0;
  #nextDeadline = Infinity;

  constructor(counters: NeighbourTableCounters, options: NeighbourTableOptions) {
    this.#counters = counters;
    this.#options = options;
  }

  /** Neighbours known, static ones aside; next hops held; addresses being resolved, and results not polled yet. */
  get sizes(): { readonly known: number; readonly held: number; readonly resolving: number } {
    const known = [...this.#table.values()].filter(({ mac }) => mac !== undefined).length;
    const resolving = this.#table.size - known + this.#resolved.length + this.#moved.length;
    return { known, held: this.#held.size, resolving };
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

  /** Queue pairs send to this next hop from now on: nothing but its silence drops its entry. */
  hold(hop: IpAddress): void {
    const key = keyOf(hop);
    this.#held.add(key);
    const entry = this.#table.get(key);
    if (entry !== undefined) this.#adopt(entry);
  }

  /** No queue pair sends to this next hop any more. */
  release(hop: IpAddress): void {
    this.#held.delete(keyOf(hop));
  }

  /**
   * Resolves the unknown next hop `hop` of `address`; `pollResolved` returns the result. Resolutions for strangers have
   * a budget of their own.
   */
  resolve(now: number, hop: IpAddress, address: IpAddress, need: ResolutionNeed): void {
    const key = keyOf(hop);
    const strange = need !== 'own' && !this.#held.has(key);
    if (need === 'caller' && !this.#table.has(key)) this.#dropOldestStranger();
    const known = this.#table.get(key);
    const entry = known ?? this.#open(now, hop, strange);
    if (entry?.strange === true && !strange) {
      this.#adopt(entry);
      this.#ask(now, entry, 0);
    }
    const room = strange ? this.#options.maxStrangers : MAX_WAITING;
    if (entry?.waiting.some((waiting) => waiting.equals(address))) return;
    if (entry !== undefined && entry.waiting.length < room) entry.waiting.push(address);
    else {
      if (strange) this.#dropped(address);
      this.settle(address, undefined);
    }
  }

  /** A result without a solicitation. */
  settle(address: IpAddress, mac: MacAddress | undefined): void {
    this.#resolved.push({ address, mac });
  }

  /** Packets go to `hop`: solicits again when the entry is stale. Returns when to call this again. */
  use(now: number, hop: IpAddress): number {
    if (this.isStatic(hop)) return Infinity;
    const entry = this.#table.get(keyOf(hop)) ?? this.#open(now, hop, false);
    if (entry === undefined) return now + RETRY_NS;
    if (this.#asking.has(entry)) return entry.deadline;
    if (now < entry.staleAt) return entry.staleAt;
    this.#ask(now, entry, MAX_UNICAST);
    return entry.deadline;
  }

  /**
   * Packets to `hop` draw no answer: it may have moved. Begins a probe, unless a packet came from it or a solicitation
   * was sent in the last second.
   */
  doubt(now: number, hop: IpAddress): void {
    const entry = this.#table.get(keyOf(hop));
    if (entry?.mac === undefined || now < entry.staleAt - REACHABLE_NS + RETRY_NS) return;
    if (this.#options.confirmMoves) this.#probe(now, entry);
    else if (!this.#asking.has(entry)) this.#ask(now, entry, 0);
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
    const entry = this.#table.get(key) ?? (mayLearn ? newEntry(address) : undefined);
    if (entry === undefined) return;
    const before = entry.mac;
    const same = before !== undefined && sameMac(before, mac);
    if (before !== undefined && !same) {
      if (!override) return;
      this.#counters.claims += 1;
      this.#options.suspect?.('neighbour-claim', address);
      if (this.#options.confirmMoves && !this.#isSilent(entry)) {
        this.#probe(now, entry);
        entry.claimed = true;
        return;
      }
    }
    if (!this.#enter(key, entry)) return;
    if (same && entry.claimed) {
      this.#counters.claimsRefuted += 1;
      this.#options.suspect?.('neighbour-claim-refuted', address);
    }
    entry.mac = mac;
    entry.claimed = false;
    entry.staleAt = now + REACHABLE_NS;
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

  /** Whether `pollResolved` or `pollMoved` has something. */
  get hasResults(): boolean {
    return this.#resolved.length > 0 || this.#moved.length > 0;
  }

  /** The next finished resolution, once; undefined when there is none. */
  pollResolved(): Resolution | undefined {
    return this.#resolved.shift();
  }

  /** The next hop whose MAC address is new, once; undefined when there is none. */
  pollMoved(): IpAddress | undefined {
    return this.#moved.shift();
  }

  /** Makes the entry one of those known, the last confirmed. False when there is no room: then it is dropped. */
  #enter(key: string, entry: Entry): boolean {
    const isNew = entry.strange || !this.#table.has(key);
    const own = entry.own || this.#held.has(key);
    this.#adopt(entry, own);
    this.#table.delete(key);
    if (isNew && !this.#makeRoom(own)) {
      this.#dropped(entry.address);
      this.#finish(entry);
      return false;
    }
    this.#table.set(key, entry);
    return true;
  }

  /** A new entry with multicast solicitations, or undefined when there is no room for one. */
  #open(now: number, hop: IpAddress, strange: boolean): Entry | undefined {
    if (strange ? this.#strangers >= this.#options.maxStrangers : !this.#makeRoom(true)) return undefined;
    const entry = newEntry(hop);
    entry.own = !strange;
    entry.strange = strange;
    if (strange) this.#strangers += 1;
    this.#table.set(keyOf(hop), entry);
    this.#ask(now, entry, 0);
    return entry;
  }

  /** The entry no longer counts among the unresolved ones of strangers. */
  #adopt(entry: Entry, own = true): void {
    if (entry.strange) this.#strangers -= 1;
    entry.strange = false;
    entry.own = own;
  }

  /** The neighbour has not answered unicast solicitations: another may have its address. */
  #isSilent(entry: Entry): boolean {
    return this.#asking.has(entry) && entry.multicastNext;
  }

  /** Solicits the known MAC address in quick succession, at most once a second. */
  #probe(now: number, entry: Entry): void {
    if (this.#asking.has(entry) && (entry.intervalNs === PROBE_NS || entry.multicastNext)) return;
    const at = Math.max(now, entry.probedAt + RETRY_NS);
    entry.probedAt = at;
    entry.multicast = MAX_MULTICAST;
    entry.intervalNs = PROBE_NS;
    this.#asking.add(entry);
    if (at <= now) {
      this.#repeat(now, entry, MAX_UNICAST);
      return;
    }
    entry.unicast = MAX_UNICAST;
    entry.multicastNext = false;
    entry.deadline = at;
    this.#updateDeadline();
  }

  #ask(now: number, entry: Entry, unicast: number): void {
    entry.multicast = MAX_MULTICAST;
    entry.intervalNs = RETRY_NS;
    this.#asking.add(entry);
    this.#repeat(now, entry, unicast);
  }

  #repeat(now: number, entry: Entry, unicast: number): void {
    entry.multicastNext = unicast === 0;
    entry.unicast = Math.max(0, unicast - 1);
    if (entry.multicastNext) entry.multicast -= 1;
    entry.questionDue = true;
    entry.deadline = now + (entry.multicastNext ? RETRY_NS : entry.intervalNs);
    this.#updateDeadline();
  }

  #giveUp(entry: Entry): void {
    if (entry.mac !== undefined) this.#counters.lost += 1;
    entry.mac = undefined;
    this.#remove(entry);
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
    this.#adopt(entry);
    this.#table.delete(keyOf(entry.address));
    this.#finish(entry);
  }

  /**
   * Room for one more entry, for which the stranger confirmed longest ago may have to go, and for an own one an own one
   * that no queue pair uses. Unresolved entries stay, but those of strangers do not count.
   */
  #makeRoom(own: boolean): boolean {
    if (this.#table.size - this.#strangers < this.#options.maxEntries) return true;
    const victim = this.#oldest(false) ?? (own ? this.#oldest(true) : undefined);
    if (victim === undefined) return false;
    this.#remove(victim);
    return true;
  }

  #dropOldestStranger(): void {
    if (this.#strangers < this.#options.maxStrangers) return;
    for (const entry of this.#table.values()) {
      if (!entry.strange) continue;
      this.#dropped(entry.address);
      this.#remove(entry);
      return;
    }
  }

  /** A stranger found no place. */
  #dropped(address: IpAddress): void {
    this.#counters.strangersDropped += 1;
    this.#options.suspect?.('neighbour-flood', address);
  }

  #oldest(own: boolean): Entry | undefined {
    for (const [key, entry] of this.#table) {
      if (entry.mac !== undefined && entry.own === own && !this.#held.has(key)) return entry;
    }
    return undefined;
  }

  #updateDeadline(): void {
    this.#nextDeadline = Infinity;
    for (const entry of this.#asking) this.#nextDeadline = Math.min(this.#nextDeadline, entry.deadline);
  }
}

const REACHABLE_NS = 30e9;
/** Between the solicitations of a probe. */
const PROBE_NS = 250e6;
const MAX_UNICAST = 3;
const MAX_MULTICAST = 3;
/** Destinations that wait behind one next hop. */
const MAX_WAITING = 256;
