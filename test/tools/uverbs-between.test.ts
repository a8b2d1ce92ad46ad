/**
 * Goal: programs between two hosts use both, and losses are told from none. Method: the lines and counters by
 * themselves; the programs run in `uverbs-two-hosts.long.test.ts` and `uverbs-guests.long.test.ts`.
 */
import { PortCounters } from 'rocev2/transport';
import { expect, it } from 'vitest';
import { PROGRAM_CASES } from '../../tools/uverbs/programs/index.ts';
import { spreadLine } from '../../tools/uverbs/programs/run-between.ts';
import { repairsOf } from '../../tools/uverbs/programs/stage.ts';

it('ranks of MPI are spread evenly over the hosts', () => {
  const lines = PROGRAM_CASES.map(({ lines: [line] }) => line).filter((line) => line.startsWith('mpirun'));
  const spread = lines.map((line) => spreadLine(line, ['10.0.0.1', '10.0.0.2'], '/tmp/agent'));
  const hosts = spread.map((line) => / -n \d+ /.exec(line)?.[0] + (/--host \S+/.exec(line)?.[0] ?? ''));
  expect(new Set(hosts)).toEqual(new Set([' -n 2 --host 10.0.0.1:1,10.0.0.2:1', ' -n 4 --host 10.0.0.1:2,10.0.0.2:2']));
  for (const line of spread) {
    expect(line).toContain(' --mca plm_rsh_agent /tmp/agent ');
    expect(line).toContain(' --mca mpi_yield_when_idle 1 ');
  }
});

it.each(['retransmittedPkts', 'duplicateRequest', 'outOfSeqRequest', 'impliedNakSeqErr'] as const)(
  'a host without repairs has seen no loss, one with %s has',
  (name) => {
    const portCounters = new PortCounters();
    expect(repairsOf({ portCounters })).toBe(0);
    portCounters[name] += 2;
    expect(repairsOf({ portCounters })).toBe(2);
  },
);
