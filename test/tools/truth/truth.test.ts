/**
 * Goal: what is said of lost and overtaken requests is true, on whatever side the capture was taken. Method: runs on
 * the simulated network whose every frame's fate is known; two seeds of each kind here, and all of those whose figures
 * are in docs/analyze.md in `truth.long.test.ts`.
 */
import { expect, it } from 'vitest';
import { playRun } from '../../../tools/truth/run.ts';
import { measure, type TruthRow, truthTable } from '../../../tools/truth/table.ts';

const rows = await measure(2);
const figures = ({ judgement: { lost, overtaken, discarded, sound } }: TruthRow) => ({
  lost,
  overtaken,
  discarded,
  sound,
});
const of = (kind: string, vantage: string) => rows.filter((row) => row.kind === kind && row.vantage === vantage);

it('nothing but losses is told of runs with nothing but losses', () => {
  for (const vantage of ['requester', 'responder'])
    for (const { judgement } of of('1 % lost', vantage)) {
      expect(judgement.lost.lost).toBeGreaterThan(10);
      expect(judgement.lost).toMatchObject({ overtaken: 0, undecided: 0, nothing: 0 });
      expect(judgement.sound).toEqual({ lost: 0, overtaken: 0, undecided: 0, nothing: 0 });
    }
});

it('nothing is lost for the requester where packets are only late', () => {
  for (const kind of ['1 % late by 10 us', '0.5 % late by 0.1 ms', '0.3 % late by 2 ms'])
    for (const row of of(kind, 'requester')) {
      const { overtaken, discarded, sound } = figures(row);
      expect(overtaken.overtaken).toBeGreaterThan(2);
      expect([overtaken, discarded, sound].map(({ lost }) => lost)).toEqual([0, 0, 0]);
    }
});

it('packets that stood behind a late one are neither', () => {
  const [row] = of('1 % late by 3 us', 'requester');
  expect(row?.judgement.discarded.nothing).toBeGreaterThan(5);
});

it('a run is the same for the same seed, and another one for another', async () => {
  const [one, again, other] = [
    await playRun({ seed: 5, ipVersion: 4, faults: { loss: 0.01 } }),
    await playRun({ seed: 5, ipVersion: 4, faults: { loss: 0.01 } }),
    await playRun({ seed: 6, ipVersion: 4, faults: { loss: 0.01 } }),
  ];
  expect(again).toEqual(one);
  expect(other.requester.length).not.toBe(one.requester.length);
});

it('the table has a line for each kind, IP version and place', () => {
  expect(truthTable(rows).split('\n')).toHaveLength(2 + 8 * 2 * 2);
});
