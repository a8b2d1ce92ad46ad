/**
 * The table of neighbours: which MAC address each next hop has, since when that is known, and the questions under way.
 *
 * Owns entries and their ageing; each table and queue has a bound. Never sees a frame: `neighbours.ts` says what was heard and
 * sends the questions. What was heard is good for 30 s. After that the entry still serves, but its next use asks anew: the MAC
 * address itself three times, a second apart, then everybody three times, and only when nobody has answered is it dropped.
 * So a neighbour that nobody uses costs no packet, and one that moved is found. When a queue pair or the connection manager hears
 * nothing from its peer, the asking begins at once and with everybody. Static entries are never asked for, changed or dropped.
 * Sources: RFC 4861 section 10 (REACHABLE_TIME 30 s without its random factor, so that runs repeat; RETRANS_TIMER 1 s;
 * MAX_UNICAST_SOLICIT and MAX_MULTICAST_SOLICIT 3), the same for ARP, as Linux has it; RFC 7048 (a stale address serves while
 * everybody is asked). The state DELAY is left out: 5 s of waiting for hints that we do not take. Bounds are ours.
 */
import type { IpAddress, MacAddress } from '../../../packets/address.ts';

/** The end of a `resolve`: `mac` is undefined when nobody answered or no way leads there. */
export interface Resolution {
  /** As asked for, which may lie behind the gateway. */
  readonly address: IpAddress;
  /** Of the next hop; undefined: nothing answered, or no way leads there. */
  readonly mac: MacAddress | undefined;
}

/** A question to send: to everybody, or to the MAC address that `target` had so far. */
export interface Question {
  readonly target: IpAddress;
  readonly mac: MacAddress | undefined;
}

export interface NeighbourTableCounters {
  /** Found or heard of for the first time. */
  learnt: number;
  /** Found at another MAC address than before. */
  moved: number;
  /** Dropped because nobody answered any more. */
  lost: number;
}

interface Entry {
  readonly address: IpAddress;
  mac: MacAddress | undefined;
  /** When the next use asks anew. */
  staleAt: number;
  /** What is asked for behind this next hop, as long as it is not known. */
  readonly waiting: IpAddress[];
  /** When the question is repeated or given up; Infinity when none is under way. */
  deadline: number;
  /** Questions left: first to the known MAC address, then to everybody. */
  unicast: number;
  multicast: number;
  /** The question that is to be sent; the present one when none is due. */
  toEverybody: boolean;
  questionDue: boolean;
}

export class NeighbourTable {
  readonly #counters: NeighbourTableCounters;
  readonly #maxEntries: number;
  readonly #static = new Map<string, MacAddress>();
  /** In the order of the last news, so that the first is the one to forget. */
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

  /** Asks for `hop`, which is not known, for the sake of `address` behind it; `pollResolved` tells the end. */
  resolve(now: number, hop: IpAddress, address: IpAddress): void {
    const entry = this.#table.get(keyOf(hop)) ?? this.#open(now, hop);
    if (entry === undefined || entry.waiting.length >= MAX_WAITING) this.settle(address, undefined);
    else if (!entry.waiting.some((waiting) => waiting.equals(address))) entry.waiting.push(address);
  }

  /** An answer that needs no question. */
  settle(address: IpAddress, mac: MacAddress | undefined): void {
    this.#resolved.push({ address, mac });
  }

  /** Packets go to `hop`: asks anew when what is known has become old. Returns when to say so again. */
  use(now: number, hop: IpAddress): number {
    if (this.isStatic(hop)) return Infinity;
    const entry = this.#table.get(keyOf(hop)) ?? this.#open(now, hop);
    if (entry === undefined) return now + RETRY_NS;
    if (this.#asking.has(entry)) return entry.deadline;
    if (now < entry.staleAt) return entry.staleAt;
    this.#ask(now, entry, MAX_UNICAST);
    return entry.deadline;
  }

  /** Packets to `hop` draw no answer: it may have moved. Asks everybody, unless it was heard or asked for in the last second. */
  doubt(now: number, hop: IpAddress): void {
    const entry = this.#table.get(keyOf(hop));
    if (entry?.mac === undefined || now < entry.staleAt - REACHABLE_NS + RETRY_NS) return;
    if (!this.#asking.has(entry)) this.#ask(now, entry, 0);
    else if (entry.unicast > 0 || !entry.toEverybody) this.#repeat(now, entry, 0);
  }

  /** Forgets what is known of `hop`, so that `resolve` asks anew; a static entry stays. */
  forget(hop: IpAddress): void {
    const entry = this.#table.get(keyOf(hop));
    if (entry?.mac !== undefined) this.#remove(entry);
  }

  /**
   * Somebody said where he is.
   * @param mayLearn there is reason to remember him although nobody asked
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

  /** The next question to send, once; undefined when there is none. */
  takeQuestion(): Question | undefined {
    for (const entry of this.#asking) {
      if (!entry.questionDue) continue;
      entry.questionDue = false;
      return { target: entry.address, mac: entry.toEverybody ? undefined : entry.mac };
    }
    return undefined;
  }

  /** Whether `takeQuestion` has one. */
  get hasQuestion(): boolean {
    for (const entry of this.#asking) if (entry.questionDue) return true;
    return false;
  }

  /** When a question is repeated or given up; Infinity when none is under way. */
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

  /** The next finished question, once; undefined when there is none. */
  pollResolved(): Resolution | undefined {
    return this.#resolved.shift();
  }

  /** The next hop whose MAC address is new, once; undefined when there is none. */
  pollMoved(): IpAddress | undefined {
    return this.#moved.shift();
  }

  /** A new entry with a question to everybody, or undefined when there is no room for one. */
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
    entry.toEverybody = unicast === 0;
    entry.unicast = Math.max(0, unicast - 1);
    if (entry.toEverybody) entry.multicast -= 1;
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

  /** Forgets whom we have not heard of for longest; questions for what is not known stay. */
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
    toEverybody: true,
    questionDue: false,
  };
}

const REACHABLE_NS = 30e9;
const RETRY_NS = 1e9;
const MAX_UNICAST = 3;
const MAX_MULTICAST = 3;
/** Destinations that wait behind one next hop. */
const MAX_WAITING = 256;
