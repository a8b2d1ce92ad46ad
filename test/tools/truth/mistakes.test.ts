/**
 * Goal: verdicts that were wrong once are right. Method: the runs of the simulated
 * network that showed it, by their seeds.
 */
import { expect, it } from 'vitest';
import { analyze, judgeRequests } from '../../../tools/truth/judge.ts';
import { faultsOf, RUN_KINDS, type RunKind } from '../../../tools/truth/kinds.ts';
import { playRun } from '../../../tools/truth/run.ts';

const kindOf = (name: string): RunKind => RUN_KINDS.find((kind) => kind.name === name) as RunKind;
const MIXED = kindOf('0.5 % lost, 0.5 % late by 15 us');
const LATE = kindOf('0.5 % late by 0.1 ms');

/** What is said of the requests that were lost, or else overtaken, seen by the requester over IPv4. */
async function told(kind: RunKind, seed: number, was: 'lost' | 'overtaken'): Promise<string[]> {
  const run = await playRun({ ...kind, seed, ipVersion: 4 });
  const seen = { vantage: 'requester', analysis: analyze(run.requester), faults: faultsOf(kind) } as const;
  return judgeRequests(run, seen).flatMap((each) => (each.was === was ? [each.told] : []));
}

it('a NAK behind READ responses may stand for the ACK that shows a request to have come late', async () => {
  expect(await told(MIXED, 5412, 'overtaken')).not.toContain('lost');
});

it('an answer long after a retransmission may be about a request that came so late', async () => {
  const requests = await told(LATE, 5419, 'overtaken');
  expect(requests.length).toBeGreaterThan(2);
  expect(requests).not.toContain('lost');
});
