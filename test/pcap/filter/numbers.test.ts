/**
 * Goal: numbers, ranges, lists and comparisons match exactly what they say, ends included. Method: each is held against
 * the set it means.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNumbers } from '../../../pcap/filter/numbers.ts';

const MAX = 15;
const ALL = Array.from({ length: MAX + 1 }, (_, value) => value);

function matched(text: string, wraps = false): number[] | undefined {
  const test = parseNumbers(text, { max: MAX, wraps });
  return test && ALL.filter(test);
}

describe('the numbers behind a word', () => {
  it.each([
    ['5', [5]],
    ['0x0f', [15]],
    ['3-5', [3, 4, 5]],
    ['5-5', [5]],
    ['1,3-4,9', [1, 3, 4, 9]],
    ['< 2', [0, 1]],
    ['<= 2', [0, 1, 2]],
    ['> 14', [15]],
    ['>= 14', [14, 15]],
    ['== 0x4', [4]],
    ['!= 3', ALL.filter((value) => value !== 3)],
  ])('%s', (text, values) => {
    expect(matched(text)).toEqual(values);
  });

  it('go round the end where they wrap, and make no sense there where they do not', () => {
    expect(matched('14-1', true)).toEqual([0, 1, 14, 15]);
    expect(matched('15-0', true)).toEqual([0, 15]);
    expect(matched('14-1')).toBeUndefined();
  });

  it.each([
    '',
    '16',
    '-1',
    '1-',
    '-',
    '1-2-3',
    '1,,2',
    ',',
    '0x',
    '1.5',
    '5 ',
    '> ',
    '>5',
    '=> 5',
    '> 1-2',
    '> 16',
    '1e1',
  ])('%j is none', (text) => {
    expect(matched(text)).toBeUndefined();
  });

  it('match as the parts of a list do', () => {
    const part = fc.tuple(fc.nat(MAX), fc.nat(MAX), fc.boolean());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.map(([from, to, single]) => (single ? `${from}` : `${from}-${to}`)).join(',');
        const wanted = ALL.filter((value) =>
          parts.some(([from, to, single]) => {
            if (single) return value === from;
            // Steps from `from` on, round the end.
            return (value - from + MAX + 1) % (MAX + 1) <= (to - from + MAX + 1) % (MAX + 1);
          }),
        );
        expect(matched(text, true)).toEqual(wanted);
      }),
    );
  });

  it('never match what is not there', () => {
    for (const text of ['5', '0-15', '!= 5', '< 5', '>= 0', '1,2'])
      expect(parseNumbers(text, { max: MAX })?.(Number.NaN)).toBe(false);
  });
});
