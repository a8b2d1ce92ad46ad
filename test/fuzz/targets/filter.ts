/**
 * The display filter: any text is refused with a place in it, or compiles, prints as a filter that means the same, and
 * judges packets of every kind.
 */
import { readFileSync } from 'node:fs';
import {
  compileFilter,
  completeFilter,
  FilterError,
  type FilterSubject,
  fieldNames,
} from '../../../pcap/filter/index.ts';
import { samples } from '../../pcap/filter/samples.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

const FILTERS = new URL('../../../docs/filter.md', import.meta.url);
let subjects: readonly FilterSubject[] | undefined;

function run(input: Uint8Array): string {
  const text = new TextDecoder().decode(input);
  completeFilter(text, text.length >> 1);
  let filter: ReturnType<typeof compileFilter>;
  try {
    filter = compileFilter(text);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const { column, length } = error;
    promise(column >= 1 && length >= 0 && column - 1 + length <= text.length, 'the place of an error is in the text');
    return error.message.replace(/'.*'/g, '...').replace(/\d+/g, 'N').replace(/;.*/, '').slice(0, 60);
  }
  const again = compileFilter(filter.text);
  promise(again.text === filter.text, 'the normal form of a filter is its own');
  subjects ??= samples().filter((_, index) => index % 8 === 0);
  for (const subject of subjects) promise(filter(subject) === again(subject), 'the normal form means the same');
  return filter.needsAnalysis ? 'a filter of the analysis' : text.length === 0 ? 'the empty filter' : 'a filter';
}

/** The last are far deeper than a parser may go by recursion. */
const TEXTS = ['', '(write or read) and not ack and ip.src == 10.0.0.1', '('.repeat(30_000), 'not '.repeat(9000)];

export const target: FuzzTarget = {
  name: 'filter',
  maxBytes: 40_000,
  words: [
    ...fieldNames(),
    ' and ',
    ' or ',
    'not ',
    '(',
    ')',
    ' == ',
    ' != ',
    '"',
    ' contains ',
    '/24',
    '0x',
    '..',
    '10.0.0.1',
  ],
  seeds: () =>
    [...readFileSync(FILTERS, 'utf8').matchAll(/`([^`\n]+)`/g)]
      .map(([, text = '']) => new TextEncoder().encode(text))
      .concat([...TEXTS.map((text) => new TextEncoder().encode(text))]),
  run,
};
