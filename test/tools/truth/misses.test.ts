/** Goal: every loss that is not told is counted by what is said of it instead. Method: verdicts are made up. */
import { expect, it } from 'vitest';
import { noJudgement } from '../../../tools/truth/judge.ts';
import { missTable } from '../../../tools/truth/misses.ts';

const judgement = {
  ...noJudgement(),
  lost: { lost: 5, undecided: 3, overtaken: 2, nothing: 1 },
  decidable: { lost: 5, undecided: 1, overtaken: 0, nothing: 1 },
};
const row = { kind: 'lossy', vantage: 'requester', judgement };

it('what can be told stands apart from what cannot, and rows of one place are added', () => {
  const lines = missTable([row, row]).split('\n');
  expect(lines[2]).toBe('| lossy | requester | 14 | 10 | 2 | 0 | 2 | 8 | 0 | 4 | 4 | 0 |');
  expect(lines[3]).toBe('| all | all | 14 | 10 | 2 | 0 | 2 | 8 | 0 | 4 | 4 | 0 |');
});

it('places without a loss have no row', () => {
  const lines = missTable([row, { kind: 'sound', vantage: 'responder', judgement: noJudgement() }]).split('\n');
  expect(lines.slice(2).map((line) => line.split(' | ')[0])).toEqual(['| lossy', '| all']);
});
