/**
 * Goal: what happens besides in another course of events is reckoned with where the run shows that it happens. Method:
 * accounts of runs are made up.
 */
import { expect, it } from 'vitest';
import type { Missing, MissingRequest } from '../../../tools/truth/recording.ts';
import type { PlayedRun } from '../../../tools/truth/run.ts';
import { signsOf } from '../../../tools/truth/signs.ts';

interface Account {
  readonly others?: readonly Missing[];
  /** So many of the first others came when the receiver had them. */
  readonly twice?: number;
  readonly copies?: number;
  readonly timeouts?: number;
  readonly lostAnswers?: number;
}

/** What is shown by a run with 200 answers, beside one that was lost. */
function signs({ others = [], twice = 0, copies = 0, timeouts = 0, lostAnswers = 0 }: Account) {
  const requests = ['lost' as const, ...others].map(
    (missing, psn) => ({ psn, missing, both: false }) as MissingRequest,
  );
  const answers = Array.from({ length: 200 }, (_, at) => ({ fate: at < lostAnswers ? { lost: 'before' } : {} }));
  const copied = Array.from({ length: copies }, () => ({ psn: 1, early: true, copy: true }));
  const late = Array.from({ length: twice }, (_, at) => ({ psn: at + 1, early: true, copy: false }));
  const again = { psn: requests.length - 1, early: false, copy: false };
  const duplicates = [...copied, ...late, again];
  const run = { naks: requests, duplicates, timeouts, log: { answers } } as unknown as PlayedRun;
  return signsOf(run, requests[0] as MissingRequest);
}

it('the request itself is no sign', () => {
  expect(signs({})).toEqual({ overtaking: false, late: 0, losing: false, copies: false, lostAnswers: false });
});

it('others that were lost or overtaken, timeouts and copies are signs', () => {
  expect(signs({ others: ['lost'] })).toMatchObject({ losing: true, overtaking: false });
  expect(signs({ others: ['overtaken', 'discarded'] })).toMatchObject({ losing: false, overtaking: true });
  expect(signs({ timeouts: 1 }).losing).toBe(true);
  // How late, those show whose own answers came, and no copies.
  const three = ['overtaken', 'overtaken', 'overtaken'] as const;
  expect([0, 2, 3].map((twice) => signs({ others: three, twice, copies: 1 }).late)).toEqual([0, 2, 3]);
  expect(signs({ copies: 1 })).toMatchObject({ copies: true, overtaking: true, late: 0 });
});

it('an answer more may be lost where that explains one of two hundred losses', () => {
  expect(signs({ others: ['overtaken'], lostAnswers: 1 }).lostAnswers).toBe(true);
  expect(signs({ others: ['overtaken'], timeouts: 1 }).lostAnswers).toBe(true);
  expect(signs({ others: ['overtaken', 'lost'], lostAnswers: 1 }).lostAnswers).toBe(false);
  expect(signs({ others: ['overtaken', 'lost'], lostAnswers: 1, timeouts: 1 }).lostAnswers).toBe(true);
  expect(signs({ lostAnswers: 50 }).lostAnswers).toBe(false);
});
