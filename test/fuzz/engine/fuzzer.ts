/**
 * The loop: run an input, see which blocks it reached, keep it when one is new or was reached more often than ever.
 * Owns coverage, corpus and findings of one target. The same seed and corpus give the same run, as far as it goes:
 * nothing depends on the clock but where `seconds` end it.
 */
import { Prng } from '../../../src/ground/prng.ts';
import { type BuiltTarget, TooManySteps } from './build.ts';
import { Mutator, wordsOf } from './mutate.ts';
import { packRecords, unpackRecords } from './records.ts';

/** Something a target must not do, and the smallest input found for it. */
export interface FoundFault {
  /** The error and the place, by which two are the same. */
  readonly signature: string;
  readonly stack: string;
  input: Uint8Array;
}

export interface FuzzLimits {
  readonly runs?: number;
  readonly seconds?: number;
  /** Called now and then. */
  readonly progress?: () => void;
}

export class Fuzzer {
  readonly corpus: Uint8Array[] = [];
  readonly findings = new Map<string, FoundFault>();
  /** How often each outcome came. */
  readonly outcomes = new Map<string, number>();
  executions = 0;
  /** For handlers of the process: an error that no promise and no caller got. It counts for the input that runs. */
  escaped: Error | undefined;
  readonly #built: BuiltTarget;
  /** Of each block, the classes of counts seen, a bit each. */
  readonly #seen: Uint8Array;
  readonly #mutator: Mutator;
  readonly #random: Prng;
  #covered = 0;
  /** Inputs that the program of the target has not seen yet. */
  #batch: Uint8Array[] = [];

  constructor(built: BuiltTarget, seed: number) {
    this.#built = built;
    this.#seen = new Uint8Array(built.blocks);
    this.#random = new Prng(seed).fork(built.target.name);
    const { target, numbers, texts } = built;
    const words = (target.words ?? []).map((word) =>
      typeof word === 'string' ? new TextEncoder().encode(word) : word,
    );
    this.#mutator = new Mutator({
      maxBytes: target.maxBytes,
      records: target.records === true,
      words: [...words, ...wordsOf(numbers, texts)],
      random: this.#random.fork('mutator'),
    });
    built.counters.maxSteps = target.maxSteps ?? MAX_STEPS;
  }

  /** Blocks reached. */
  get covered(): number {
    return this.#covered;
  }

  /** Runs an input and keeps it where it reached something new. */
  async add(input: Uint8Array): Promise<boolean> {
    const fault = await this.#execute(input);
    const isNew = this.#mergeCounts();
    if (fault !== undefined) await this.#found(fault, input);
    else if (isNew) this.corpus.push(input);
    this.#batch.push(input);
    if (this.#batch.length >= (this.#built.target.batch?.size ?? 1)) await this.settle();
    return isNew && fault === undefined;
  }

  async run({ runs = Infinity, seconds = Infinity, progress }: FuzzLimits): Promise<void> {
    const until = performance.now() + seconds * 1000;
    const last = this.executions + runs;
    while (this.executions < last && this.findings.size < MAX_FINDINGS) {
      if (this.executions % 64 === 0 && performance.now() >= until) break;
      if (this.executions % 4096 === 0) progress?.();
      await this.add(this.#mutator.mutate(this.#pick(), this.#pick()));
    }
    await this.settle();
  }

  /** Gives what has not been checked yet to the target's program. */
  async settle(): Promise<void> {
    const inputs = this.#batch;
    this.#batch = [];
    const { batch } = this.#built.target;
    if (batch === undefined || inputs.length === 0) return;
    const fault = await batch.check(inputs);
    if (fault === undefined) return;
    if (inputs.length > 1) {
      const half = inputs.length >> 1;
      for (const part of [inputs.slice(0, half), inputs.slice(half)]) {
        this.#batch = part;
        await this.settle();
      }
      return;
    }
    const [input = NOTHING] = inputs;
    const signature = `${fault}`.replace(/\d+/g, 'N');
    if (!this.findings.has(signature)) this.findings.set(signature, { signature, stack: fault, input });
  }

  /** The corpus without inputs whose blocks the others reach too, small ones first. */
  async minimized(): Promise<Uint8Array[]> {
    const bySize = [...this.corpus].sort((a, b) => a.length - b.length);
    const need = new Uint8Array(this.#built.blocks);
    const kept: Uint8Array[] = [];
    for (const input of bySize) {
      await this.#execute(input);
      const { hits } = this.#built.counters;
      let fresh = false;
      for (let block = 0; block < hits.length; block++) {
        if (hits[block] === 0 || need[block] === 1) continue;
        need[block] = 1;
        fresh = true;
      }
      if (fresh) kept.push(input);
    }
    return kept;
  }

  /** Later inputs more often: they reached what was new last. */
  #pick(): Uint8Array {
    const { length } = this.corpus;
    if (length === 0) return NOTHING;
    const from = this.#random.chance(0.5) ? Math.floor(length * 0.75) : 0;
    return this.corpus[from + this.#random.below(length - from)] ?? NOTHING;
  }

  async #execute(input: Uint8Array): Promise<Error | undefined> {
    const { counters, target } = this.#built;
    counters.hits.fill(0);
    counters.steps = 0;
    this.executions += 1;
    try {
      // Targets may keep or change what they get.
      const made = target.run(input.slice(), counters.hits);
      const outcome = typeof made === 'string' ? made : await settled(made);
      // What is left in the queues of the event loop belongs to this input.
      if (typeof made !== 'string') await new Promise((resolve) => setImmediate(resolve));
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
    const { escaped } = this;
    this.escaped = undefined;
    if (escaped !== undefined) return escaped;
    // The code under test may have swallowed it.
    if (counters.steps > counters.maxSteps) return new TooManySteps(`more than ${counters.maxSteps} steps`);
    return undefined;
  }

  #mergeCounts(): boolean {
    const { hits } = this.#built.counters;
    const seen = this.#seen;
    let fresh = false;
    for (let block = 0; block < hits.length; block++) {
      const count = hits[block] ?? 0;
      if (count === 0) continue;
      const bit = CLASS_OF[count] ?? 0;
      const before = seen[block] ?? 0;
      if ((before & bit) !== 0) continue;
      if (before === 0) this.#covered += 1;
      seen[block] = before | bit;
      fresh = true;
    }
    return fresh;
  }

  async #found(error: Error, input: Uint8Array): Promise<void> {
    const signature = signatureOf(error);
    if (this.findings.has(signature)) return;
    const finding = { signature, stack: error.stack ?? String(error), input };
    this.findings.set(signature, finding);
    finding.input = await this.#smallest(input, signature);
  }

  /** Takes records and bytes away as long as the same fault comes of the rest. */
  async #smallest(input: Uint8Array, signature: string): Promise<Uint8Array> {
    let left = MAX_TRIES;
    const fails = async (bytes: Uint8Array): Promise<boolean> => {
      if (--left < 0) return false;
      const error = await this.#execute(bytes);
      return error !== undefined && signatureOf(error) === signature;
    };
    let best = input;
    if (this.#built.target.records === true) {
      for (let at = unpackRecords(best).length - 1; at >= 0; at--) {
        const fewer = packRecords(unpackRecords(best).filter((_, index) => index !== at));
        if (await fails(fewer)) best = fewer;
      }
    }
    for (let size = best.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at < best.length && left > 0; ) {
        const fewer = Uint8Array.from([...best.subarray(0, at), ...best.subarray(at + size)]);
        if (await fails(fewer)) best = fewer;
        else at += size;
      }
    }
    return best;
  }
}

/** Like `promise`, if that settles. */
async function settled(promise: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the input is never done with')), MAX_WAIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The name of the error and the first places of ours in its stack. */
function signatureOf(error: Error): string {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const places = frames.map((line) =>
    line
      .trim()
      .replace(/\(.*[/\\]/, '(')
      .replace(/:\d+\)?$/, ''),
  );
  // Where the steps ran out is chance.
  if (error instanceof TooManySteps) return error.name;
  return [error.name, error.message.replace(/\d+/g, 'N').slice(0, 80), ...places.slice(0, 2)].join(' | ');
}

/** Classes of counts: 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, more. */
const CLASS_OF = Uint8Array.from({ length: 256 }, (_, count) =>
  count < 4 ? (1 << count) >> 1 : count < 8 ? 8 : count < 16 ? 16 : count < 32 ? 32 : count < 128 ? 64 : 128,
);
const MAX_STEPS = 2_000_000;
const MAX_FINDINGS = 50;
/** Executions to make one finding smaller. */
const MAX_TRIES = 2000;
/** A promise that has not settled by then never will: inputs take milliseconds, and virtual time. */
const MAX_WAIT_MS = 60_000;
const NOTHING = new Uint8Array(0);
