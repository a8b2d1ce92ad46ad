/**
 * Goal: verdicts that were wrong once are right, and what was left open without need is told. Method: the runs of the
 * simulated network that showed it, by their seeds.
 */
import { expect, it } from 'vitest';
import { renumbered } from '../../../tools/truth/identifications.ts';
import { analyze, judgeRequests, type Vantage } from '../../../tools/truth/judge.ts';
import { faultsOf, RUN_KINDS, type RunKind } from '../../../tools/truth/kinds.ts';
import { playRun } from '../../../tools/truth/run.ts';

const kindOf = (name: string): RunKind => RUN_KINDS.find((kind) => kind.name === name) as RunKind;
const MIXED = kindOf('0.5 % lost, 0.5 % late by 15 us');
const DOUBLED = kindOf('the same, 1 % doubled, no ACKs lost');
const BEHIND = kindOf('0.5 % late by 15 us before the middle, 0.5 % lost behind');
const BOTH = kindOf('0.5 % lost before the middle, 0.5 % behind');
const LITTLE = kindOf('1 % late by 10 us');
/** Not in the table. */
const DENSE: RunKind = { name: '2 % late by 25 us', faults: { reorder: 0.02, reorderDelayNs: 25_000 } };
/** Nor these. */
const COPIES: RunKind = doubled(0.02, { loss: 0.003, reorder: 0.01, reorderDelayNs: 100_000 });
const FEW_COPIES: RunKind = doubled(0.005, { reorder: 0.005, reorderDelayNs: 100_000 });
const MANY_COPIES: RunKind = doubled(0.05, { loss: 0.01, reorder: 0.003, reorderDelayNs: 15_000 });
const NO_LOSS: RunKind = doubled(0.01, { reorder: 0.01, reorderDelayNs: 15_000 });
const LITTLE_COPIES: RunKind = doubled(0.01, { loss: 0.005, reorder: 0.005, reorderDelayNs: 5_000 });
const LATER: RunKind = doubled(0.01, { reorder: 0.01, reorderDelayNs: 300_000 });
const LOSSY: RunKind = { name: 'lossy', faults: { loss: 0.02, reorder: 0.02, reorderDelayNs: 40_000 } };
const LATEST: RunKind = doubled(0.01, { reorder: 0.006, reorderDelayNs: 5_000_000 });
const LATE = kindOf('0.5 % late by 0.1 ms');

function doubled(duplicate: number, faults: RunKind['faults']): RunKind {
  return { name: `${JSON.stringify(faults)}, doubled: ${duplicate}`, faults: { ...faults, duplicate } };
}

/** What is said of each request that was missed, over IPv4, and what it was. */
async function told(kind: RunKind, seed: number, vantage: Vantage = 'requester', numbering?: 'zero') {
  const run = await playRun({ ...kind, seed, ipVersion: 4 });
  const analysis = analyze(numbering === undefined ? run[vantage] : renumbered(run[vantage], numbering));
  return judgeRequests(run, { vantage, analysis, faults: faultsOf(kind) });
}

it.each([
  ['a NAK behind READ responses may stand for the ACK that shows it', MIXED, 5412],
  ['the ACK of a retransmission comes late: it is for the original', MIXED, 5733],
  ['the same, and what is behind it was dropped until then', LITTLE, 5709],
  ['the READ before it came late, and the NAK for that waited behind responses', LITTLE, 6124],
  ['an answer long after a retransmission may be about a request that came so late', LATE, 5419],
  ['three answers for three requests, the last long after', LATE, 5724],
  ['answers that are slow again and again', LATE, 5730],
  ['the answer waited behind READ responses, long after the retransmission', LATE, 6239],
  ['the same, where the lateness is that of most', LATE, 6208],
  ['two requests before one came late each, 11 us apart', DENSE, 7519],
  ['the same, elsewhere', DENSE, 7544],
  ['a READ that came late is answered by its response', DOUBLED, 5403],
  ['the retransmission of one that came late was lost', DOUBLED, 5433],
  ['the answer that shows it acknowledges something new as well', COPIES, 7603],
  ['the same, elsewhere', COPIES, 7621],
  ['its answer is taken for that to another sending', FEW_COPIES, 7920],
  ['what is late is so by more than is looked for', LATER, 7917],
  ['what is answered at once was not late, though it is so again and again', MANY_COPIES, 7917],
  ['its answer waited for a frame', NO_LOSS, 7912],
  ['it was sent again later than any request is late', LITTLE_COPIES, 8020],
  ['its answer waited behind READ responses, and was taken for that to another one', LOSSY, 18_543],
  ['what is late is so by more than is looked for, and others are alike by chance', LATEST, 19_103],
  ['something else explains its answer, which came as late as usual', BEHIND, 22_016],
] as const)('no request is told lost that came late: %s', async (_, kind, seed) => {
  const requests = await told(kind, seed);
  expect(requests.filter(({ was }) => was === 'overtaken')).not.toEqual([]);
  expect(requests.filter(({ was, told }) => was !== 'lost' && told === 'lost').map(({ psn }) => psn)).toEqual([]);
});

it.each([
  ['answers may be missing for one of four timeouts', MIXED, 5520, 'requester', [16777170, 136, 263, 364]],
  ['an ACK came behind READ responses, and did not wait', MIXED, 5729, 'requester', [133]],
  ['a NAK came behind an ACK that waited behind READ responses', BEHIND, 5622, 'middle', [235]],
  ['the answer to a late request waited behind READ responses', BEHIND, 5618, 'middle', [16777163, 39]],
  ['what is behind a late request was sent three times', BEHIND, 5719, 'middle', [163, 391]],
  ['the READ before it came in time', BEHIND, 7257, 'middle', [902]],
  ['what was sent behind a late request was late, too', BEHIND, 7205, 'requester', [161, 311]],
  ['answers to copies are about any, and late ones alike', DOUBLED, 5402, 'requester', [80, 189, 340, 402]],
  ['three answers are alike to a quarter of a per cent', DOUBLED, 7754, 'requester', [867, 994, 1020, 1055]],
  ['so are those that something else may explain', DOUBLED, 7733, 'requester', [493, 729, 1038]],
  ['what waited behind READ responses did so too late', DOUBLED, 7102, 'requester', [452, 484, 642]],
  ['two answers are alike, and few are around', DOUBLED, 16_041, 'requester', [49, 469, 867]],
  ['answers that are alike waited for a frame', DOUBLED, 16_123, 'requester', [41, 50, 149, 680, 732, 859]],
  ['what was sent again for a late one came in time', DOUBLED, 16_067, 'requester', [331]],
  ['the answer that may be about it came too late', MIXED, 16_021, 'requester', [228, 234, 267]],
  ['it is so short that it is answered sooner than any before', BOTH, 3101, 'requester', [16_777_174, 831]],
  ['such an answer came first', BEHIND, 22_040, 'requester', [61]],
  ['an ACK shows that another one was late, and which answers are due', MIXED, 22_006, 'requester', [968, 988, 1025]],
  ['the same where that was on its way when its NAK came', MIXED, 26_024, 'requester', [1, 625, 675]],
  ['after a timeout: it would have got its ACK', MIXED, 26_016, 'requester', [640]],
  ['two ACKs waited behind READ responses', DOUBLED, 26_013, 'requester', [3, 27, 304, 1022]],
  ['those that came twice are no sign that answers are missing', DOUBLED, 26_043, 'requester', [327]],
] as const)('a request is told lost that was: %s', async (_, kind, seed, vantage, psns) => {
  const requests = await told(kind, seed, vantage);
  const lost = requests.filter(({ was, told }) => was === 'lost' && told === 'lost').map(({ psn }) => psn);
  expect(lost).toEqual(expect.arrayContaining([...psns]));
});

it('what is sent again for a NAK, and once more for a timeout that may be none, was lost all the same', async () => {
  const ACKS_LOST = kindOf('the same, 2 % of ACKs lost');
  for (const [seed, psn] of [
    [7112, 448],
    [7114, 913],
    [7153, 1120],
  ]) {
    const run = await playRun({ ...ACKS_LOST, seed: seed as number, ipVersion: 6 });
    const [vantage, analysis] = ['responder', analyze(run.responder)] as const;
    const requests = judgeRequests(run, { vantage, analysis, faults: faultsOf(ACKS_LOST) });
    expect(requests.find((each) => each.psn === psn)).toMatchObject({ was: 'lost', told: 'lost' });
  }
});

it('what is captured twice is answered twice, whichever of the two is the copy', async () => {
  const requests = await told(BEHIND, 7109, 'middle', 'zero');
  const lost = requests.filter(({ told }) => told === 'lost');
  expect(lost.every(({ was }) => was === 'lost')).toBe(true);
  expect(lost.map(({ psn }) => psn)).toEqual(expect.arrayContaining([184, 227, 261, 281]));
});
