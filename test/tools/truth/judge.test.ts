/**
 * Goal: where it is told how many of some requests were lost, and not which, the number is judged. Method: an account
 * of three requests, and made-up events about them.
 */
import type { TransportEvent } from 'rocev2/pcap';
import { expect, it } from 'vitest';
import { judgeRequests } from '../../../tools/truth/judge.ts';
import type { KnownRun, MissingRequest } from '../../../tools/truth/recording.ts';

const FAULTS = { lateNs: 0, doubles: false, losesAnswers: false, steady: true };
const PSNS = [5, 8, 9];

/** What is judged of three requests of which this is true and that is told, by their PSNs. */
function judged(was: readonly string[], told: readonly string[], among?: readonly number[]): string[] {
  const naks = PSNS.map((psn, at) => ({ psn, missing: was[at], timeNs: at, shownBy: at }) as unknown as MissingRequest);
  const run = { naks, gaps: [], serials: { requester: [0, 1, 2] }, duplicates: [], readsAnswered: [], timeouts: 0 };
  const kinds: Readonly<Record<string, string>> = { lost: 'loss', overtaken: 'reordering' };
  const events = PSNS.map((psn, at) => {
    const event = { kind: kinds[told[at] ?? ''], psn, count: 1, frame: at + 1, refersTo: 0, requester: 0, sender: 0 };
    return { ...event, ...(among === undefined ? {} : { among }) } as unknown as TransportEvent;
  });
  const seen = { vantage: 'requester', analysis: { events }, faults: FAULTS } as const;
  return judgeRequests(run as unknown as KnownRun, seen).map((each) => `${each.psn} ${each.was}: ${each.told}`);
}

const WAS = ['lost', 'overtaken', 'lost'];

it('as many as were lost are right, whichever they are', () => {
  expect(judged(WAS, ['overtaken', 'lost', 'lost'], PSNS)).toEqual([
    '5 lost: lost',
    '8 overtaken: overtaken',
    '9 lost: lost',
  ]);
});

it('one too many is wrong, and no more', () => {
  expect(judged(WAS, ['lost', 'lost', 'lost'], PSNS)).toEqual(['5 lost: lost', '8 overtaken: lost', '9 lost: lost']);
  const fewer = judged(WAS, ['overtaken', 'overtaken', 'lost'], PSNS);
  expect(fewer.filter((each) => each.endsWith('lost: overtaken'))).toHaveLength(1);
});

it('what is told of single ones is judged of these', () => {
  expect(judged(WAS, ['overtaken', 'lost', 'lost'])).toEqual([
    '5 lost: overtaken',
    '8 overtaken: lost',
    '9 lost: lost',
  ]);
});
