/**
 * A contestant that is set up: its place, its processes and their connection. Owns all three until it is closed, and
 * the difference of counters before and after.
 */
import { join } from 'node:path';
import { LINK_KINDS } from 'rocev2/node';
import { RoceError } from 'rocev2/packets';
import type { Contestant } from './contestants.ts';
import { PeerProcess } from './peer-process.ts';
import { type BenchPlace, makePlace } from './places.ts';
import type { Amount, Figures, MeasuredTask, PeerCounters, PeerMemory } from './protocol.ts';

export interface RunningContestantOptions {
  /** Where each peer leaves a CPU profile, in a directory of its own. */
  readonly profile?: string;
}

/** Counters of the peers beside the data they moved; sums of both ends. */
export interface PacketLosses {
  readonly sent: number;
  /** Sent by one end and not taken by the other, for whatever reason. */
  readonly lost: number;
  readonly sentAgain: number;
}

/** Of one core, during a task. */
export interface ProcessorLoad {
  readonly server: number;
  readonly client: number;
}

export class RunningContestant {
  readonly contestant: Contestant;
  readonly #place: BenchPlace;
  /** Server first; one that is both alone. */
  readonly #peers: readonly PeerProcess[];
  #baseline: PeerCounters = {};

  private constructor(contestant: Contestant, place: BenchPlace, peers: readonly PeerProcess[]) {
    this.contestant = contestant;
    this.#place = place;
    this.#peers = peers;
  }

  /** @throws Unavailable where it cannot run here */
  static async setUp(contestant: Contestant, options: RunningContestantOptions = {}): Promise<RunningContestant> {
    await demandLink(contestant);
    const place = available(() => makePlace(contestant.medium));
    const configs = contestant.configs(place);
    const peers = configs.map((_, index) => {
      const role = ['server', 'client'][index] ?? '';
      const name = `${contestant.name}@${contestant.medium}`.replaceAll(' ', '-');
      const flags = options.profile === undefined ? [] : profileFlags(options.profile, `${name}-${role}`);
      return new PeerProcess(`the ${role} of ${contestant.name}`, place.prefixes[index] ?? [], flags);
    });
    const stand = new RunningContestant(contestant, place, peers);
    try {
      for (const [index, config] of configs.entries()) await stand.#peer(index).open(config);
      await stand.#client.connect();
      return stand;
    } catch (error) {
      await stand.close();
      throw error instanceof RoceError ? new ContestantUnavailable(error.message) : error;
    }
  }

  /** Where it spins: takes no processor time until `resume`. Nothing may be under way. */
  pause(): void {
    if (this.contestant.spins === true) for (const peer of this.#peers) peer.pause();
  }

  resume(): void {
    for (const peer of this.#peers) peer.resume();
  }

  measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    return this.#client.measure(task, amount);
  }

  /** Measures, and reports the processor time of both ends meanwhile. */
  async measureWithLoad(
    task: MeasuredTask,
    amount: Amount,
  ): Promise<{ readonly figures: Figures; readonly load: ProcessorLoad }> {
    const before = await this.#each((peer) => peer.counters());
    const figures = await this.measure(task, amount);
    const after = await this.#each((peer) => peer.counters());
    const share = (index: number): number => {
      const passed = (name: string): number => (after[index]?.[name] ?? 0) - (before[index]?.[name] ?? 0);
      return passed('cpuMs') / passed('wallMs');
    };
    return { figures, load: { server: share(0), client: share(this.#peers.length - 1) } };
  }

  /** From here on losses count. */
  async begin(): Promise<void> {
    this.#baseline = await this.counters();
  }

  async losses(): Promise<PacketLosses> {
    const now = await this.counters();
    const since = (name: string): number => (now[name] ?? 0) - (this.#baseline[name] ?? 0);
    const bare = since('lostPkts');
    // An ACK may have been under way when the baseline was taken.
    const lost = Math.max(0, since('sentPkts') - since('rcvdPkts'));
    return { sent: since('sentPkts'), lost: this.contestant.ours ? lost : bare, sentAgain: since('retransmittedPkts') };
  }

  /** Sums of both ends. */
  async counters(): Promise<PeerCounters> {
    const sums: Record<string, number> = {};
    for (const counters of await this.#each((peer) => peer.counters())) {
      for (const [name, value] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }

  soak(seconds: number): Promise<void> {
    return this.#client.soak(seconds);
  }

  /** Of each process, server first. */
  memory(): Promise<readonly PeerMemory[]> {
    return this.#each((peer) => peer.memory());
  }

  async close(): Promise<void> {
    // The client disconnects, which the server answers.
    for (const peer of [...this.#peers].reverse()) await peer.close();
    this.#place.remove();
  }

  get #client(): PeerProcess {
    return this.#peer(this.#peers.length - 1);
  }

  #peer(index: number): PeerProcess {
    const peer = this.#peers[index];
    if (peer === undefined) throw new Error('a contestant has a process for each of its ends');
    return peer;
  }

  async #each<T>(ask: (peer: PeerProcess) => Promise<T>): Promise<readonly T[]> {
    const answers: T[] = [];
    for (const peer of this.#peers) answers.push(await ask(peer));
    return answers;
  }
}

/** A contestant cannot run on this machine; the message is a sentence that says why. */
export class ContestantUnavailable extends Error {}

async function demandLink({ name, ours }: Contestant): Promise<void> {
  if (!ours || name === 'in-process') return;
  const kind = LINK_KINDS.find((one) => one.name === name.split(' ')[0]);
  if (kind === undefined) throw new ContestantUnavailable(`there is no link of the kind ${name}`);
  const missing = (await kind.requirements()).find(({ met }) => !met);
  if (missing !== undefined) throw new ContestantUnavailable(`${missing.what} is missing; ${missing.remedy}`);
}

function available<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new ContestantUnavailable(
      error instanceof Error ? error.message.trim().replace(/\s*\n\s*/g, ' ') : String(error),
    );
  }
}

function profileFlags(directory: string, name: string): readonly string[] {
  // A directory each: the threads of a process leave a profile each, and would take a name given to them for theirs
  // alone.
  return ['--cpu-prof', `--cpu-prof-dir=${join(directory, name)}`];
}
