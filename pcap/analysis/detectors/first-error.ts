/**
 * Symptom: one failure causes others, and the most visible one is not the first.
 *
 * Owns the finding that ties silences to the failure that caused them. The detectors of that failure describe it, and
 * those of silences report nothing then. It is a warning: the connections have failed, but the cause is reported
 * elsewhere. `failures.ts` decides what is the consequence of what.
 * Rules: ref:analyzer#1 row 3.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { TransportEvent } from '../types.ts';
import { pathOf } from './failure-words.ts';
import { consequences, type Failure, FailureWatch } from './failures.ts';
import { mergedFrames } from './frame-list.ts';
import { duration, times } from './words.ts';

export const FIRST_ERROR: Symptom = {
  id: 'first-error',
  row: 3,
  title: 'One failure, several complaints',
  complaint:
    'Completion status 12 (retries exceeded) at one end or on many connections, status 5 (flushed) everywhere else, and one status that is neither.',
  about:
    'When a queue pair fails it goes to ERROR: what was outstanding is flushed with status 5, and what the peer still sends is dropped silently, ' +
    'so that the peer runs out of retries and reports status 12. Programs then close their other connections, with the same effect there. The first ' +
    'failure that is not a flush is the cause; the others are its consequences.',
  advice: [
    'Look at the first failure only, and ignore flushes (status 5) and the retries that ran out later.',
    'In logs, sort the failures of all ranks by time and begin with the earliest.',
  ],
  commands: ['rdma resource show qp', 'rdma statistic show link DEV/1'],
  make: () => new FirstError(),
};

class FirstError implements Detector {
  readonly #failures = new FailureWatch();

  get interest(): number {
    return this.#failures.interest;
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
  }

  finish(context: DetectorContext): void {
    const failures = this.#failures.finish(context);
    const followers = new Map<Failure, Failure[]>();
    for (const [silence, root] of consequences(failures)) {
      const list = followers.get(root);
      if (list === undefined) followers.set(root, [silence]);
      else list.push(silence);
    }
    for (const [root, silences] of [...followers].slice(0, MOST_FINDINGS)) report(context, root, silences);
  }
}

function report(context: DetectorContext, root: Failure, silences: readonly Failure[]): void {
  const [first] = silences;
  if (first === undefined) return;
  const longest = Math.max(...silences.map(({ firstNs }) => firstNs)) - root.lastNs;
  context.report({
    severity: 'warning',
    text:
      `The first failure is in frame ${root.frames.frames.at(-1)}: ${nameOf(root)}, for requests from ${pathOf(root)}. ` +
      `${silences.length === 1 ? 'What follows from it is a silence' : `What follows from it are ${silences.length} silences`} ` +
      `up to ${duration(longest)} later: PSN ${first.psn} from ${pathOf(first)} was sent ${times(first.tries)} to a queue pair that had gone.`,
    frames: mergedFrames([root.frames.frames.slice(-3), ...silences.map(({ frames }) => frames.frames)]),
    frameCount: silences.reduce((sum, { frames }) => sum + frames.count, root.frames.count),
    conversations: [...new Set([root, ...silences].map(({ conversation }) => conversation.id))],
    evidence: {
      cause: nameOf(root),
      causeFrame: root.frames.frames.at(-1) ?? 0,
      consequences: silences.length,
      longestDelayNs: longest,
    },
  });
}

function nameOf({ kind, syndrome }: Failure): string {
  if (kind === 'rnr') return 'RNR retries used up';
  if (kind === 'silence') return 'retries used up';
  return SYNDROMES.get(syndrome) ?? 'a NAK that ends the connection';
}

/** ref:wire#7. */
const SYNDROMES: ReadonlyMap<number, string> = new Map([
  [0x61, 'NAK invalid request'],
  [0x62, 'NAK remote access error'],
  [0x63, 'NAK remote operational error'],
  [0x64, 'NAK invalid RD request'],
]);
const MOST_FINDINGS = 20;
