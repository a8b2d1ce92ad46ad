/**
 * Goal: an experiment runs as its file says, and says what it found, good or bad. Method: two stacks in this process on
 * a real wire (Unix sockets and a bump), what every kind of step and expectation does, and a folder that can be read
 * back.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failuresOf } from '../../../tools/experiment/run.ts';
import type { CaseExpectation, CaseSpec, CaseStep } from '../../../tools/experiment/types.ts';
import { experimentOf, PING, run } from './support.ts';

/** The failures of one case. */
async function failures(spec: CaseSpec): Promise<string[]> {
  const { result } = await run(experimentOf({ cases: [spec] }));
  return result.cases.flatMap(failuresOf);
}

const caseOf = (steps: readonly CaseStep[], ...expectations: readonly CaseExpectation[]): CaseSpec => ({
  name: 'one',
  run: steps,
  expect: expectations,
});
const server = (command: string, port = 7174): CaseStep => ({
  host: 'bob',
  command,
  background: true,
  ready: { listen: port },
});

describe('a run', () => {
  it('leaves a folder with captures, accounts, logs, the experiment and both reports', async () => {
    const { result, directory } = await run(experimentOf());
    expect(result.cases.flatMap(failuresOf)).toEqual([]);
    expect(result.passed).toBe(true);
    expect(readdirSync(directory).sort()).toEqual(['experiment.json', 'ping', 'report.json', 'report.md']);
    expect(readdirSync(join(directory, 'ping')).sort()).toEqual([
      '1-bob.log',
      '2-alice.log',
      'wire.json',
      'wire.pcapng',
    ]);
    expect(readFileSync(join(directory, 'ping', '2-alice.log'), 'utf8')).toMatch(
      /^alice\$ rping -c .*\nexit code 0, ended by itself\n--- stdout\nping data: rdma-ping-0: /,
    );
    expect(readFileSync(join(directory, 'report.md'), 'utf8')).toContain('## ping: as expected');
    const report: unknown = JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8'));
    expect(report).toMatchObject({
      passed: true,
      cases: [{ passed: true, folder: 'ping', commands: [{ exit: 0 }, { exit: 0 }] }],
    });
    expect(JSON.parse(readFileSync(join(directory, 'experiment.json'), 'utf8'))).toEqual(experimentOf());
  });

  it('uses the same hosts for every case, and fresh ones after a failure', async () => {
    const wrong: CaseSpec = { ...PING, name: 'wrong', expect: [{ run: 'alice', prints: 'no such thing' }] };
    const { result } = await run(
      experimentOf({ cases: [PING, { ...PING, name: 'again' }, wrong, { ...PING, name: 'after' }] }),
    );
    expect(result.cases.map(({ spec, passed }) => [spec.name, passed])).toEqual([
      ['ping', true],
      ['again', true],
      ['wrong', false],
      ['after', true],
    ]);
    // Who has spoken to a neighbour before need not look for it again.
    const sent = result.cases.map(({ record }) => record.wires[0]?.account.directions['a-to-b'].frames ?? 0);
    expect([sent[1], sent[3]]).toEqual([(sent[0] ?? 0) - 1, sent[0]]);
    expect(result.passed).toBe(false);
  });

  it('does to a wire what the case says, and else what the wire says', async () => {
    const drop = { on: { opcode: 'write', psn: 4, iteration: 1 }, do: 'drop' };
    const wires = [{ name: 'wire', between: ['alice', 'bob'], rules: [{ name: 'always', ...drop }] }];
    const events = (event: string): CaseExpectation => ({ wire: 'wire', event, count: 1 });
    const own = {
      ...PING,
      name: 'own',
      wires: { wire: { rules: [{ name: 'now', ...drop }] } },
      expect: [events('now')],
    };
    const none = {
      ...PING,
      name: 'none',
      wires: { wire: { rules: [] } },
      expect: [{ wire: 'wire', event: 'dropped', count: 0 }],
    };
    const cases = [{ ...PING, expect: [events('always')] }, own, none];
    const { result, directory } = await run(experimentOf({ wires, cases }));
    expect(result.cases.map(failuresOf)).toEqual([[], [], []]);
    expect(existsSync(join(directory, 'own', 'wire.rules.json'))).toBe(true);
  });

  it('waits for a command, and ends one in good order', async () => {
    const endless: CaseStep = { name: 'endless', host: 'alice', command: 'rping -c -a 10.0.0.2 -v', background: true };
    const counted: CaseStep = {
      name: 'counted',
      host: 'alice',
      command: 'rping -c -a 10.0.0.2 -C 1 -v',
      background: true,
    };
    const steps: CaseStep[] = [
      server('rping -s -P'),
      endless,
      counted,
      { wait: 'counted' },
      { end: 'endless' },
      { end: 'bob' },
    ];
    expect(await failures(caseOf(steps, { run: 'endless', prints: '^ping data: ', count: { min: 1 } }))).toEqual([]);
  });

  it('ends what must not end by itself when all else has', async () => {
    const steps: CaseStep[] = [
      { ...server('rping -s -P'), exit: 'any' } as CaseStep,
      { host: 'alice', command: 'rping -c -a 10.0.0.2 -C 1' },
    ];
    const { result } = await run(experimentOf({ cases: [caseOf(steps)] }));
    expect(result.cases.flatMap(failuresOf)).toEqual([]);
    expect(result.cases[0]?.record.commands[0]?.ending).toBe('ended by the experiment');
  });
});

describe('a case fails', () => {
  it.each<[string, readonly CaseStep[], readonly CaseExpectation[], RegExp]>([
    [
      'when a command ends otherwise',
      [{ host: 'bob', command: 'rping -c -a 10.0.0.1', exit: 7 }],
      [],
      /^bob ends with exit code 7: 1, not 7$/,
    ],
    [
      'when a command ends well that must not',
      [{ host: 'bob', command: 'rping --help', exit: 'failure' }],
      [],
      /^bob ends with a failure: 0, not not 0$/,
    ],
    [
      'when there is no such program',
      [{ host: 'bob', command: 'rpong' }],
      [],
      /^bob ends with exit code 0: 127, not 0$/,
    ],
    [
      'when a command line makes no sense',
      [{ host: 'bob', command: 'rping -s -c' }],
      [],
      /^bob ends with exit code 0: 2, not 0$/,
    ],
    ['when a quote is open', [{ host: 'bob', command: "rping 's" }], [], /^bob ends with exit code 0: 1, not 0$/],
    [
      'when too little is printed',
      PING.run,
      [{ run: 'bob', prints: 'rdma-ping', count: 3 }],
      /^bob prints `rdma-ping`: 2, not 3$/,
    ],
    [
      'when a counter has another value',
      PING.run,
      [{ host: 'bob', counter: 'badIcrc', count: 1 }],
      /^badIcrc of bob grows: 0, not 1$/,
    ],
    [
      'when the wire did not do it',
      PING.run,
      [{ wire: 'wire', event: 'dropped', count: { min: 1 } }],
      /^dropped on wire: 0, not at least 1$/,
    ],
    [
      'when packets have another ICRC',
      PING.run,
      [{ wire: 'wire', at: 'bob', icrc: 'bad', count: 1 }],
      /^packets at bob with a bad ICRC: 0, not 1$/,
    ],
    [
      'when what must fail holds',
      PING.run,
      [{ run: 'alice', prints: 'rdma-ping', mustFail: 'the moon' }],
      /^alice prints `rdma-ping`: holds, and must fail: the moon$/,
    ],
  ])('%s', async (_what, steps, expectations, failure) => {
    const told = await failures(caseOf(steps, ...expectations));
    expect(told.filter((text) => failure.test(text))).toHaveLength(1);
  });

  it('at once when a command in the background fails, and says which', async () => {
    const steps: CaseStep[] = [
      { name: 'broken', host: 'bob', command: 'rping -s -c', background: true },
      { host: 'alice', command: 'rping -s' },
    ];
    const told = await failures(caseOf(steps));
    expect(told[0]).toBe('the commands can be run as written: broken ended with exit code 2, not all');
  });

  it('when a server ends before it is ready', async () => {
    const told = await failures(caseOf([server('rping -s -c')]));
    expect(told[0]).toBe('the commands can be run as written: bob ended before it was ready, not all');
  });

  it('when a command has no end, at its limit', async () => {
    const told = await failures(caseOf([{ host: 'bob', command: 'rping -s', timeoutSeconds: 1 }]));
    expect(told[0]).toBe('the commands can be run as written: bob did not end within 1 s, not all');
  });

  it('not when what must fail does', async () => {
    const expectation: CaseExpectation = { run: 'alice', prints: 'rdma-ping-7', mustFail: 'there are two pings' };
    expect(await failures(caseOf(PING.run, expectation))).toEqual([]);
  });

  it('not when an exit code is excused by what was printed', async () => {
    const step = {
      host: 'bob',
      command: 'rping -s -c',
      excuse: { exit: 2, prints: "cannot be used with option '-c'", why: 'x' },
    };
    expect(await failures(caseOf([step]))).toEqual([]);
    expect(await failures(caseOf([{ ...step, excuse: { ...step.excuse, prints: 'other' } }]))).toHaveLength(1);
  });
});
