/**
 * Goal: what is said of lost and overtaken requests is true, on whatever side the capture was taken. Method: runs on
 * the simulated network whose every frame's fate is known; one seed of each kind here, and all of those whose figures
 * are in docs/analyze.md in `truth.long.test.ts`.
 */
import { serialize } from 'node:v8';
import { expect, it } from 'vitest';
import { SEEN, truthText } from '../../../tools/truth/page.ts';
import { playRun } from '../../../tools/truth/run.ts';
import { measure, share, type TruthRow } from '../../../tools/truth/table.ts';

/** What can be told by the rule: other courses of events take long, and `oracle.test.ts` plays some. */
const truth = await measure({ first: SEEN.first, count: 1 }, false);
const falselyLost = ({ judgement: { overtaken, discarded, sound } }: TruthRow): number =>
  overtaken.lost + discarded.lost + sound.lost;
const of = (kind: string, vantage: string) => truth.rows.filter((row) => row.kind === kind && row.vantage === vantage);

it('nothing but losses is told of runs with nothing but losses', () => {
  for (const vantage of ['requester', 'responder'])
    for (const { judgement } of of('1 % lost', vantage)) {
      expect(judgement.lost.lost).toBeGreaterThan(4);
      expect(judgement.lost).toMatchObject({ overtaken: 0, undecided: 0, nothing: 0 });
      expect(judgement.decidable).toEqual(judgement.lost);
      expect(judgement.sound).toEqual({ lost: 0, overtaken: 0, undecided: 0, nothing: 0 });
    }
});

it('nothing is lost for the requester where packets are only late', () => {
  for (const kind of ['1 % late by 10 us', '0.5 % late by 0.1 ms', '0.3 % late by 2 ms'])
    for (const row of of(kind, 'requester'))
      expect([kind, row.numbering, falselyLost(row)]).toEqual([kind, row.numbering, 0]);
});

it('packets that come late without identifications are no timeouts', () => {
  for (const row of of('0.3 % late by 2 ms', 'responder')) {
    expect(row.timeouts).toEqual({ real: 0, told: 0, tooShort: 0 });
    expect(row.judgement.overtaken.overtaken).toBeGreaterThan(1);
    expect(falselyLost(row)).toBe(0);
  }
});

it('packets that stood behind a late one are neither', () => {
  const discarded = of('1 % late by 3 us', 'requester').map(({ judgement }) => judgement.discarded);
  expect(discarded.reduce((sum, { nothing }) => sum + nothing, 0)).toBeGreaterThan(4);
  for (const { lost } of discarded) expect(lost).toBe(0);
});

it('none is told falsely by the requester where packets are doubled and overtaken, and some are left open', () => {
  for (const row of of('the same, 1 % doubled, no ACKs lost', 'requester')) {
    expect(falselyLost(row)).toBe(0);
    expect(row.judgement.overtaken.undecided).toBeGreaterThan(0);
  }
});

it('captures of both hosts tell the same whatever their clocks say, and none that lacks packets is an error', () => {
  const told = (sort: string) => truth.parts.filter(({ capture }) => capture === sort).map((part) => part.told);
  expect(told('both hosts, clocks 1 ms apart')).toEqual(told('both hosts, one clock'));
  for (const { withErrors } of truth.parts) expect(withErrors).toBe(0);
});

it('few losses are told falsely of captures that lack packets', () => {
  for (const sort of ['one packet in 10', '5 % missing']) {
    const parts = truth.parts.filter(({ capture }) => capture === sort);
    const sum = (of: (part: (typeof parts)[number]) => number) => parts.reduce((so, part) => so + of(part), 0);
    expect(sum(({ falselyTold }) => falselyTold)).toBeLessThanOrEqual(Math.max(1, 0.02 * sum(({ told }) => told)));
  }
});

it('nothing is told to be lost with one direction only', () => {
  for (const { capture, told } of truth.parts)
    if (capture.endsWith('only')) expect([capture, told]).toEqual([capture, 0]);
});

it('a run is the same for the same seed, and another one for another', async () => {
  const play = (seed: number) => playRun({ seed, ipVersion: 4, faults: { loss: 0.01 } });
  const [one, again, other] = [await play(5), await play(5), await play(6)];
  // As bytes: to compare all frames one by one takes long.
  expect(serialize(again).equals(serialize(one))).toBe(true);
  expect(other.requester.length).not.toBe(one.requester.length);
});

it('the page says n/a where there is nothing to judge', () => {
  expect(share(undefined)).toBe('n/a');
  expect(truthText(truth)).toContain('| 1 % late by 10 us | requester | counted | 0 | 0 | n/a | n/a | n/a | 0 |');
});
