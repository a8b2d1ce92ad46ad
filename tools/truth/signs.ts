/**
 * What the capture of a run shows of its network, beside the request in question: whether packets are overtaken,
 * answers get lost, or packets come twice.
 *
 * Owns when that is enough to reckon with one more of these. It is taken from the account of the run: nobody who has
 * the capture only knows more.
 */
import type { KnownRun, MissingRequest } from './recording.ts';
import type { PlayedRun } from './run.ts';

/** What has to be reckoned with. */
export interface Signs {
  /** Another request was overtaken, or may have been: the answer to a copy looks like one to a late request. */
  readonly overtaking: boolean;
  /** So many others were, and came as duplicates: the answers to these show by how much packets are late. */
  readonly late: number;
  /** Another one was lost. */
  readonly losing: boolean;
  /** A request came twice. */
  readonly copies: boolean;
  /**
   * Of two hundred requests that look lost, one or more came late, and the answer to it was lost. Every lost answer is
   * a sign, and every timeout, which may be for one. Such shares are guessed from some two hundred answers: where one
   * in a hundred was allowed, two of 96 verdicts were wrong.
   */
  readonly lostAnswers: boolean;
}

/** What the run shows beside this request. */
export function signsOf({ naks, duplicates, timeouts, log }: PlayedRun, request: MissingRequest): Signs {
  const others = naks.filter((each) => each !== request && !each.both);
  const count = (was: MissingRequest['missing']): number => others.filter(({ missing }) => missing === was).length;
  const missing = log.answers.filter(({ fate }) => fate.lost !== undefined).length + timeouts;
  const copies = duplicates.some(({ copy }: KnownRun['duplicates'][number]) => copy);
  const cameTwice = new Set(duplicates.filter(({ early, copy }) => early && !copy).map(({ psn }) => psn));
  return {
    overtaking: copies || count('overtaken') > 0,
    late: others.filter(({ missing, psn }) => missing === 'overtaken' && cameTwice.has(psn)).length,
    losing: count('lost') + timeouts > 0,
    copies,
    lostAnswers: count('overtaken') * missing * MOST_RIGHT >= (count('lost') + 1) * log.answers.length,
  };
}

/** Verdicts of which one may be wrong. */
const MOST_RIGHT = 200;
