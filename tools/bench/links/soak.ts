/**
 * Full load on one link for a long time: data verified by the client, memory of both processes sampled after a
 * collection, losses counted. Owns the watch and the verdict; the load is roce-soak.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from './contestants.ts';
import { flatness, MAX_RISE_MIB, MAX_SPREAD_MIB, type Sample } from './flatness.ts';
import { ContestantUnavailable, type PacketLosses, RunningContestant } from './stand.ts';

export interface SoakVerdict {
  readonly name: string;
  readonly medium: string;
  /**
   * Data right, nothing lost by a receiver, memory flat in a run of a minute or more. What cannot run here is not bad.
   */
  readonly good: boolean;
  /** The reasons, most important first. */
  readonly words: readonly string[];
}

const SAMPLE_SECONDS = 10;
/** A short run is sampled more often: the rule needs samples. */
const LEAST_SAMPLES = 20;
const REPORT_SECONDS = 60;
/** What a program needs to reach the memory it then keeps. */
const LEAST_JUDGED_SECONDS = 60;
const MIB = 0x10_00_00;

/** Resident memory and what the program holds, of each process. */
interface Watch {
  readonly rss: Sample[];
  readonly held: Sample[];
}

export async function soak(contestant: Contestant, seconds: number, say: (line: string) => void): Promise<SoakVerdict> {
  const { name, medium } = contestant;
  let stand: RunningContestant;
  try {
    stand = await RunningContestant.setUp(contestant);
  } catch (error) {
    const [good, word] = error instanceof ContestantUnavailable ? [true, 'skipped'] : [false, 'failed'];
    return { name, medium, good, words: [`${word}, ${error instanceof Error ? error.message : String(error)}`] };
  }
  try {
    say(`${name} (${medium}): ${seconds} s of full load ...`);
    await stand.begin();
    const watches = (await stand.memory()).map((): Watch => ({ rss: [], held: [] }));
    const ended = new AbortController();
    const load = stand.soak(seconds).finally(() => ended.abort());
    const watching = watch(stand, watches, seconds, ended.signal, say);
    // Whichever fails first is the reason; both are over then.
    await Promise.all([load, watching]);
    return verdict(contestant, seconds, watches, await stand.losses(), await stand.counters());
  } catch (error) {
    return { name, medium, good: false, words: [`failed, ${error instanceof Error ? error.message : String(error)}`] };
  } finally {
    await stand.close();
  }
}

async function watch(
  stand: RunningContestant,
  watches: readonly Watch[],
  seconds: number,
  ended: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const began = performance.now();
  const everyMs = 1000 * Math.min(SAMPLE_SECONDS, seconds / LEAST_SAMPLES);
  let reported = 0;
  while (!ended.aborted) {
    await sleep(everyMs, undefined, { signal: ended }).catch(() => {});
    const memories = await stand.memory();
    const at = (performance.now() - began) / 1000;
    for (const [index, { rss, held }] of memories.entries()) {
      watches[index]?.rss.push({ seconds: at, bytes: rss });
      watches[index]?.held.push({ seconds: at, bytes: held });
    }
    if (at - reported < REPORT_SECONDS) continue;
    reported = at;
    const { sent, lost, sentAgain } = await stand.losses();
    const sizes = memories.map(({ rss, held }) => `${mib(rss)}/${mib(held)}`).join(' and ');
    say(`  ${Math.round(at)} s: ${sent} frames, ${lost} lost, ${sentAgain} sent again; ${sizes} MiB resident/held`);
  }
}

function verdict(
  { name, medium }: Contestant,
  seconds: number,
  watches: readonly Watch[],
  { sent, lost, sentAgain }: PacketLosses,
  counters: Readonly<Record<string, number>>,
): SoakVerdict {
  const ends = watches.map(({ rss, held }) => ({ rss: flatness(rss), held: flatness(held) }));
  const judged = seconds >= LEAST_JUDGED_SECONDS;
  const flat = !judged || ends.every(({ rss, held }) => rss.flat && held.flat);
  const memory = judged ? (flat ? 'flat' : 'NOT FLAT') : `not judged in less than ${LEAST_JUDGED_SECONDS} s`;
  const rises = ends.map(({ rss, held }) => `${signed(rss.riseMib)}/${signed(held.riseMib)}`);
  const spreads = ends.map(({ rss, held }) => `${rss.spreadMib.toFixed(1)}/${held.spreadMib.toFixed(1)}`);
  const count = (counter: string): number => counters[`soak.${counter}`] ?? 0;
  return {
    name,
    medium,
    good: flat && lost === 0,
    words: [
      `memory ${memory}, resident/held ${rises.join(' and ')} MiB (at most ${MAX_RISE_MIB})`,
      `within ${spreads.join(' and ')} MiB (at most ${MAX_SPREAD_MIB})`,
      `${lost} of ${sent} frames lost, ${sentAgain} sent again`,
      `${mib(count('writtenBytes'))} MiB written, ${mib(count('readBytes'))} MiB read back and compared, ${count('echoes')} SENDs echoed`,
    ],
  };
}

function mib(bytes: number): string {
  return String(Math.round(bytes / MIB));
}

function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${value.toFixed(2)}`;
}
