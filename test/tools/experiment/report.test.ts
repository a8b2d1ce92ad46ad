/**
 * Goal: a report says what was expected and found, and how to look for oneself; a verdict is what the numbers say.
 * Method: one run between two stacks with a good, a bad and a must-fail expectation; with tshark where it is.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countText, filterAt, isWithin } from '../../../tools/experiment/judge.ts';
import { failuresOf } from '../../../tools/experiment/run.ts';
import { itWith } from '../../support/need.ts';
import { experimentOf, PING, run } from './support.ts';

const READ = 'infiniband.bth.opcode == 12';
const SPEC = {
  ...PING,
  about: 'Two pings.',
  expect: [
    { wire: 'wire', at: 'bob', filter: READ, count: 2, why: 'One for each ping.' },
    { wire: 'wire', filter: `${READ} || arp`, count: { min: 4 } },
    { wire: 'wire', filter: 'infiniband.bth.opcode ==', count: 0 },
    { run: 'alice', prints: 'a|b', count: 1000 },
    { run: 'alice', prints: 'moon', mustFail: 'The moon does not ping.' },
    { wire: 'wire', sound: true },
  ],
};

describe('a report', () => {
  itWith('tshark', 'has every expectation with what was found, frames and a line to copy', async () => {
    const { result, directory } = await run(experimentOf({ cases: [SPEC] }));
    const text = readFileSync(join(directory, 'report.md'), 'utf8');
    expect(text).toContain('# Two stacks\n\n**NOT as expected** - experiment `two-stacks`, ');
    expect(text).toMatch(/\n- rocev2: \d+\.\d+\.\d+.*\n- node: v\d+.*\n- tshark: \d/);
    expect(text).toContain('| alice | rocev2, in the process of the experiment | 10.0.0.1/24 |');
    expect(text).toContain('Wire `wire`: alice (a) - bob (b).');
    expect(text).toContain('## ping: NOT as expected\n\nTwo pings.\n');
    expect(text).toContain('- `alice`, on alice: `rping -c -a 10.0.0.2 -C 2 -S 3000 -v -V` - exit code 0');
    expect(text).toMatch(/\| pass \| frames at bob of `infiniband\.bth\.opcode == 12` \| 2 \| 2 \| \d+, \d+ \|/);
    expect(text).toContain(
      'tshark -r ping/wire.pcapng -Y \'frame.interface_description == "bob" && (infiniband.bth.opcode == 12)\'',
    );
    expect(text).toContain('One for each ping.');
    expect(text).toContain('| fails, as it must | alice prints `moon` | at least 1 | 0 |  |');
    expect(text).toContain('Must fail: The moon does not ping.');
    expect(text).toMatch(/\| fail \| alice prints `a\\\|b` \| 1000 \| \d+ \|/);
    expect(text).toMatch(/\| pass \| all frames at alice are sound \| .* \| \d+ RoCE packets, tshark \d+ \|/);
    const failed = result.cases.flatMap(failuresOf);
    expect(failed).toHaveLength(2);
    // A filter that tshark refuses is told in tshark's words, and never a success.
    expect(failed[0]).toMatch(/^frames at alice of `infiniband\.bth\.opcode ==`: tshark ended with \d+: /s);
  });
});

describe('a count', () => {
  it.each([
    [3, 3, true],
    [3, 4, false],
    [{ min: 3 }, 2, false],
    [{ min: 3 }, 300, true],
    [{ max: 3 }, 3, true],
    [{ max: 3 }, 4, false],
    [{ min: 1, max: 2 }, 2, true],
    [{ min: 1, max: 2 }, 0, false],
  ] as const)('of %j takes %i: %s', (count, found, within) => {
    expect(isWithin(found, count)).toBe(within);
  });

  it('is told in words', () => {
    expect([countText(0), countText({ min: 1 }), countText({ max: 2 }), countText({ min: 1, max: 2 })]).toEqual([
      '0',
      'at least 1',
      'at most 2',
      '1 to 2',
    ]);
  });
});

it('a filter for one end keeps the operators of the one it is made of together', () => {
  expect(filterAt('bob', 'arp || icmp')).toBe('frame.interface_description == "bob" && (arp || icmp)');
});
