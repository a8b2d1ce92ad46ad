/**
 * Goal: the programs of stacks talk to each other as to the stock tools they stand for, and those that misbehave do so
 * as they say. Method: experiments between two stacks; the same programs meet real guests in test/interop.
 */
import { expect, it } from 'vitest';
import { PROGRAMS } from '../../../tools/experiment/programs/index.ts';
import { splitWords } from '../../../tools/experiment/programs/words.ts';
import { failuresOf } from '../../../tools/experiment/run.ts';
import type { CaseExpectation, CaseStep } from '../../../tools/experiment/types.ts';
import { experimentOf, run } from './support.ts';

const prints = (name: string, text: string, count = 1): CaseExpectation => ({ run: name, prints: text, count });
const RPING = 7174;
const RDMA = 7471;

it.each<[string, number, Partial<CaseStep>, string, Partial<CaseStep>, readonly CaseExpectation[]]>([
  [
    'ucmatose -c 3 -C 2 -S 900',
    RDMA,
    {},
    'ucmatose -s 10.0.0.2 -c 3 -C 2 -S 900',
    {},
    [prints('alice', '^6 messages sent, 6 received$')],
  ],
  ['rdma_server', RDMA, {}, 'rdma_client -s 10.0.0.2', {}, []],
  [
    'bad-reader --wrong-key',
    RPING,
    {},
    'rping -c -a 10.0.0.2 -C 1',
    { exit: 'any' },
    [
      prints('bob', 'completion of RdmaRead: status 10 '),
      prints('bob', '^bytes that the READ brought: 0$'),
      { host: 'alice', counter: 'refusedRequest', count: 1 },
    ],
  ],
  [
    'bad-reader --too-long',
    RPING,
    {},
    'rping -c -a 10.0.0.2 -C 1',
    { exit: 'any' },
    [prints('bob', 'completion of RdmaRead: status 10 '), prints('bob', 'completion of Recv: status 5 ')],
  ],
  [
    'rping -s',
    RPING,
    { exit: 'any' },
    'bad-advertiser -a 10.0.0.2 -S 64 --wrong-key',
    {},
    [
      prints('bob', 'cq completion failed status 10'),
      prints('alice', '^event: qp-access-err$'),
      prints('alice', '^the queue pair is in ERR$'),
    ],
  ],
  [
    'rping -s',
    RPING,
    { exit: 'any' },
    'bad-advertiser -a 10.0.0.2 -S 64 --past-the-end',
    {},
    [prints('bob', 'cq completion failed status 10'), { host: 'alice', counter: 'refusedRequest', count: 1 }],
  ],
  [
    'rping -s',
    RPING,
    { exit: 'failure' },
    'bad-advertiser -a 10.0.0.2 -S 64 --vanish --hold --retries 1 --timeout 10',
    { background: true, exit: 'any' },
    [
      prints('alice', '^the queue pair is gone$'),
      { host: 'alice', counter: 'badQpn', count: { min: 1 } },
      prints('bob', 'cq completion failed status 12'),
    ],
  ],
  [
    'deaf-server --rnr-retries 2',
    RPING,
    {},
    'rping -c -a 10.0.0.2 -C 1',
    { exit: 'failure' },
    [prints('alice', 'cq completion failed status 13'), { host: 'bob', counter: 'sendRnrErr', count: 3 }],
  ],
  [
    'late-receiver --after 3 --rnr-timer 20',
    RDMA,
    {},
    'rdma_client -s 10.0.0.2',
    {},
    [prints('bob', '^posts a receive after 3 RNR NAKs$'), { host: 'alice', counter: 'rcvdRnrErr', count: 3 }],
  ],
  [
    'rdma_server',
    RDMA,
    { exit: 'any' },
    'two-sends -s 10.0.0.2',
    { background: true, exit: 'any' },
    [prints('alice', 'completion of Send: status 0 ')],
  ],
])('%s', async (bob, port, bobStep, alice, aliceStep, expectations) => {
  const steps = [
    { host: 'bob', command: bob, background: true, ready: { listen: port }, ...bobStep },
    { host: 'alice', command: alice, ...aliceStep },
  ];
  const { result } = await run(experimentOf({ cases: [{ name: 'one', run: steps, expect: expectations }] }));
  expect(result.cases.flatMap(failuresOf)).toEqual([]);
});

it('every program tells its options', () => {
  for (const { name, help } of PROGRAMS) expect(help).toMatch(new RegExp(`^Usage: ${name} `));
});

it.each([
  ['a  b\tc', ['a', 'b', 'c']],
  [`a 'b c' "d 'e'"f`, ['a', 'b c', "d 'e'f"]],
  [`'' ""`, ['', '']],
  ['', []],
])('the words of %j are those of a shell', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});
