/**
 * Goal: what cannot be told is known from alternative runs with the same capture, and the rule says the same. Method: a
 * run is played again with the fates of its frames, all of them or all but one; a few requests here, more of them in
 * `truth.long.test.ts`.
 */
import { defined } from 'rocev2/packets';
import { expect, it } from 'vitest';
import { confusionTable } from '../../../tools/truth/confusion.ts';
import { judgeRequests, type NetworkFaults, type Vantage } from '../../../tools/truth/judge.ts';
import { faultsOf, RUN_KINDS, type RunKind } from '../../../tools/truth/kinds.ts';
import { otherCourse, otherCourses } from '../../../tools/truth/oracle.ts';
import type { Duplicate, KnownRun, Missing, MissingRequest } from '../../../tools/truth/recording.ts';
import { hasSameCapture } from '../../../tools/truth/replay.ts';
import { playRun } from '../../../tools/truth/run.ts';
import type { FrameFate } from '../../../tools/truth/wire-log.ts';

const kindOf = (name: string): RunKind => RUN_KINDS.find((kind) => kind.name === name) as RunKind;
const FEW_ANSWERS = kindOf('the same, 2 % of ACKs lost');
const MIXED = kindOf('0.5 % lost, 0.5 % late by 15 us');
const DOUBLED = kindOf('the same, 1 % doubled, no ACKs lost');
const BEHIND = kindOf('0.5 % late by 15 us before the middle, 0.5 % lost behind');

it.each([FEW_ANSWERS, DOUBLED, BEHIND])(
  'a run with the same fates has the same capture, and with one less another: $name',
  async (kind) => {
    const options = { ...kind, seed: 1, ipVersion: 4 } as const;
    const { log } = await playRun(options);
    const vantage: Vantage = kind === BEHIND ? 'middle' : 'requester';
    const same = (fates: ReadonlyMap<number, FrameFate>) =>
      hasSameCapture({ options, log, vantage, moreLostAnswers: 0 }, fates);
    expect(log.fates.size).toBeGreaterThan(4);
    expect(await same(log.fates)).toBe(true);
    for (const [place, { lost, lateNs }] of [...log.fates].slice(0, 3))
      if (lost !== undefined || lateNs !== undefined)
        expect([place, await same(new Map([...log.fates].filter(([other]) => other !== place)))]).toEqual([
          place,
          false,
        ]);
  },
);

it('only the capture counts: what the middle alone sees is the same for the requester', async () => {
  const options = { ...BEHIND, seed: 1, ipVersion: 6 } as const;
  const { log } = await playRun(options);
  const behind = [...log.fates].filter(([, { lost }]) => lost === 'behind').slice(0, 2);
  const moved = new Map(log.fates);
  for (const [place, fate] of behind) moved.set(place, { ...fate, lost: 'before' });
  const seen = (vantage: Vantage) => hasSameCapture({ options, log, vantage, moreLostAnswers: 0 }, moved);
  expect([behind.length, await seen('requester'), await seen('middle')]).toEqual([2, true, false]);
});

it.each([
  [1_500, true],
  [3_000, false],
])('whether a frame that leaves %i ns later is the same frame: %s', async (laterNs, same) => {
  const options = { ...FEW_ANSWERS, seed: 1, ipVersion: 4 } as const;
  const { log } = await playRun(options);
  const last = log.requests.length - 1;
  const requests = log.requests.map((frame, at) =>
    at === last ? { ...frame, timeNs: frame.timeNs + laterNs } : frame,
  );
  const original = { options, log: { ...log, requests }, vantage: 'requester', moreLostAnswers: 0 } as const;
  expect(await hasSameCapture(original, log.fates)).toBe(same);
});

/** What is different in another course for the first request of a run that was lost, or overtaken. */
async function first(kind: RunKind, was: Missing, { vantage = 'requester', seed = 1 }: FirstOptions = {}) {
  const options = { ...kind, seed, ipVersion: 4 } as const;
  const run = await playRun(options);
  const request = run.naks.find(({ missing, both }) => missing === was && !both) as MissingRequest;
  return otherCourse({ options, run, vantage, lateNs: faultsOf(kind).lateNs }, request);
}

interface FirstOptions {
  readonly vantage?: Vantage;
  readonly seed?: number;
}

it('a loss has another course where answers are lost: it came late, and the answer to it was lost', async () => {
  expect(await first(FEW_ANSWERS, 'lost')).toBe('an answer lost');
  expect(await first(MIXED, 'lost')).toBeUndefined();
});

it('one that was overtaken has another course where packets are doubled: its retransmission was', async () => {
  expect(await first(DOUBLED, 'overtaken')).toBe('another doubled or not');
});

/** What is different in another course for the request with this PSN. */
async function ofPsn(seed: number, psn: number, kind = MIXED) {
  const options = { ...kind, seed, ipVersion: 4 } as const;
  const run = await playRun(options);
  const found = await otherCourses({ options, run, vantage: 'requester', lateNs: faultsOf(kind).lateNs });
  return [...found].find(([request]) => request.psn === psn)?.[1];
}

it('one that may have come late behind the end of the capture cannot be told', async () => {
  expect(await ofPsn(5401, 1081)).toBe('nothing');
});

it('nor one that may have come late in the place of another, or later than others, where READ responses were sent', async () => {
  expect(await ofPsn(5405, 835)).toBe('another late, lost, in time');
  expect(await ofPsn(5405, 871)).toBe('nothing');
});

it('nor one that may have been a little later than twice as late as others, as answers show that to 2 us only', async () => {
  expect(await ofPsn(22_002, 0xff_ff_fc, DOUBLED)).toBe('another late, lost, in time');
});

it('nor one whose NAK waited behind READ responses: it was dropped if the READ before it came late', async () => {
  expect(await ofPsn(22_018, 143, DOUBLED)).toBe('another late, lost, in time');
  expect(await ofPsn(22_018, 390, DOUBLED)).toBeUndefined();
});

it('nothing is late in another course where the run shows no packet that is', async () => {
  const run = await playRun({ ...MIXED, seed: 1, ipVersion: 4 });
  const lost = run.naks.filter(({ missing }) => missing === 'lost');
  const only = { ...run, naks: lost };
  const question = { options: { ...MIXED, seed: 1, ipVersion: 4 }, vantage: 'requester', lateNs: 1e9 } as const;
  expect(lost.length).toBeGreaterThan(0);
  expect(await otherCourses({ ...question, run: only })).toEqual(new Map());
});

it('the receiver sees what becomes of each', async () => {
  expect(await first(FEW_ANSWERS, 'lost', { vantage: 'responder' })).toBeUndefined();
});

/** What the rule says of a request that was missed at 100 us and came at 110 us, on a network that is late by 15 us. */
function canBeTold(
  was: Missing,
  vantage: Vantage,
  faults: Partial<NetworkFaults>,
  account: Partial<KnownRun> = {},
  others = (naks: readonly MissingRequest[]) => naks,
) {
  const request = { psn: 5, missing: was, both: false, timeNs: 100_000, arrivedNs: 110_000, shownBy: 1, serial: 2 };
  const none = { requester: [], responder: [], middle: [], serials: { requester: [], middle: [], responder: [] } };
  const run = {
    ...none,
    naks: others([request]),
    gaps: [request],
    duplicates: [],
    readsAnswered: [],
    timeouts: 0,
    ...account,
  };
  const all = { lateNs: 15_000, doubles: false, losesAnswers: false, steady: true, ...defined(faults) };
  return judgeRequests(run, { vantage, analysis: { events: [] }, faults: all })[0]?.decidable;
}

const duplicateAt = (timeNs: number, copy: boolean): Duplicate => ({ psn: 3, timeNs, early: copy, copy });

it('the rule gives up losses where answers are lost, or where a second copy was answered in time', () => {
  expect(canBeTold('lost', 'requester', {})).toBe(true);
  expect(canBeTold('lost', 'requester', { losesAnswers: true })).toBe(false);
  expect(canBeTold('lost', 'requester', { losesAnswers: true, lateNs: 0 })).toBe(true);
  expect(canBeTold('lost', 'responder', { losesAnswers: true })).toBe(true);
  const copyAt = (timeNs: number, copy = true) =>
    canBeTold('lost', 'requester', { doubles: true }, { duplicates: [duplicateAt(timeNs, copy)] });
  expect([100_000, 100_001, 130_000, 130_001].map((timeNs) => copyAt(timeNs))).toEqual([true, false, false, true]);
  expect(copyAt(105_000, false)).toBe(true);
});

it('the rule gives up what was overtaken where packets are doubled, but for the places that see it', () => {
  const places = ['requester', 'middle', 'responder'] as const;
  expect(places.map((vantage) => canBeTold('overtaken', vantage, { doubles: true }))).toEqual([false, true, true]);
  expect(canBeTold('overtaken', 'requester', {})).toBe(true);
  const lostAt = (timeNs: number) => ({ missing: 'lost', timeNs }) as MissingRequest;
  const beside = (timeNs: number) => (run: readonly MissingRequest[]) => [...run, lostAt(timeNs)];
  const told = [69_999, 70_000, 130_000, 130_001].map((timeNs) =>
    canBeTold('overtaken', 'requester', {}, {}, beside(timeNs)),
  );
  expect(told).toEqual([true, false, false, true]);
});

it('the rule gives up more where times vary', () => {
  const varied = (account: Partial<KnownRun>) => canBeTold('lost', 'requester', { steady: false }, account);
  expect(varied({})).toBe(true);
  expect(varied({ timeouts: 1 })).toBe(false);
  expect(varied({ readsAnswered: [105_000] })).toBe(false);
  expect(varied({ readsAnswered: [131_000] })).toBe(true);
  expect(varied({ duplicates: [duplicateAt(105_000, false)] })).toBe(false);
  expect(canBeTold('lost', 'requester', { steady: false, doubles: true })).toBe(false);
  expect(canBeTold('lost', 'requester', {}, { timeouts: 1, readsAnswered: [105_000] })).toBe(true);
});

it('the table names what was different besides', () => {
  const counts = { bothCan: 7, onlyRuleCan: 1, onlyRunsCan: 2, bothCannot: 3 };
  const besides = new Map([
    ['nothing', 1],
    ['an answer lost', 3],
  ] as const);
  const lines = confusionTable([{ kind: 'lossy', vantage: 'requester', was: 'lost', ...counts, besides }]).split('\n');
  expect(lines[2]).toBe('| lossy | requester | lost | 7 | 1 | 2 | 3 | an answer lost: 3; nothing: 1 |');
});

it('one that may have come late with an answer that waited behind READ responses for the next one', async () => {
  const options = { ...MIXED, seed: 5988, ipVersion: 4 } as const;
  const run = await playRun(options);
  const request = run.naks.find(({ psn }) => psn === 875) as MissingRequest;
  expect(await otherCourse({ options, run, vantage: 'requester', lateNs: 15_000 }, request)).toBe('nothing');
});

it('one of a run with copies and too few that are late to know by how much: with the answer to any copy', async () => {
  const options = { ...DOUBLED, seed: 5416, ipVersion: 4 } as const;
  const run = await playRun(options);
  expect(run.naks.filter(({ missing }) => missing === 'overtaken')).toHaveLength(1);
  const request = run.naks.find(({ psn }) => psn === 164) as MissingRequest;
  const question = { options, run, vantage: 'requester', lateNs: 15_000 } as const;
  expect(await otherCourse(question, request)).toBe('another doubled or not');
});

it('one that may have come late between two full frames, by the PSN of the answer to a copy', async () => {
  expect(await ofPsn(16_157, 560, DOUBLED)).toBe('another doubled or not');
});

it('one of a run with copies that may have come late behind the end: by how much is not known, nor that none did', async () => {
  expect(await ofPsn(16_154, 874, DOUBLED)).toBe('nothing');
  expect(await ofPsn(16_071, 445, DOUBLED)).toBeDefined();
});

it('where nothing comes twice, two late ones show by how much: one at the end did not come later than the capture', async () => {
  expect(await ofPsn(21_111, 880)).toBeUndefined();
});
