/**
 * Goal: what ships is sound, and the documentation is true of it. Method: read every file that is built in, and the
 * page about them.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { filterProblems } from '../../../tools/experiment/filters.ts';
import { builtInNames, loadExperiment, parseText } from '../../../tools/experiment/load.ts';
import { failuresOf } from '../../../tools/experiment/run.ts';
import { itWith, useWhereThere } from '../../support/need.ts';
import { run } from './support.ts';

useWhereThere('tshark');

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/experiments.md', import.meta.url)), 'utf8');
const EXAMPLES = [...PAGE.matchAll(/```json\n(.*?)```/gs)].map((match) => match[1] ?? '');

describe('what is built in', () => {
  it('is a dozen and more', () => {
    expect(builtInNames().length).toBeGreaterThanOrEqual(12);
  });

  it.each(builtInNames())('%s is an experiment of that name, says what it shows, and is on the page', (name) => {
    const experiment = loadExperiment(name);
    expect(experiment.name).toBe(name);
    expect(experiment.about.length).toBeGreaterThan(80);
    expect(PAGE).toContain(`| \`${name}\``);
    // A case without expectations of its own shows only that programs end.
    for (const { expect: expectations } of experiment.cases) expect(expectations.length).toBeGreaterThan(2);
  });
});

it.each(builtInNames())('%s says of every wire in every case what the analyzer finds in its capture', (name) => {
  const { cases, wires } = loadExperiment(name);
  for (const { expect: expectations } of cases) {
    const held = expectations.flatMap((one) => ('findings' in one && one.mustFail === undefined ? [one.wire] : []));
    expect(held).toEqual(wires.map((wire) => wire.name));
  }
});

itWith('tshark', 'has no filter that tshark does not understand', async () => {
  const [first, ...rest] = builtInNames().map((name) => loadExperiment(name));
  if (first === undefined) throw new Error('nothing is built in');
  const all = { ...first, cases: [first, ...rest].flatMap(({ cases }) => cases) };
  expect(await filterProblems(all)).toEqual([]);
  const wrong = { wire: 'wire', filter: 'infiniband.bth.opcod == 1', count: 0 };
  const [spec] = first.cases;
  if (spec === undefined) throw new Error('there is no case');
  expect(await filterProblems({ ...first, cases: [{ ...spec, expect: [wrong] }] })).toEqual([
    expect.stringMatching(/^cases\[0\]\.expect\[0\]\.filter: tshark ended with \d+: .*infiniband\.bth\.opcod/),
  ]);
});

describe('the page', () => {
  it('has an example that is as expected', async () => {
    expect(EXAMPLES).toHaveLength(1);
    const { result } = await run(parseText(EXAMPLES[0] ?? '', {}, 'example'));
    expect(result.cases.flatMap(failuresOf)).toEqual([]);
  });

  it.each(['stack', 'guest', 'namespace'])('tells of hosts of kind %s', (kind) => {
    expect(PAGE).toContain(`| \`${kind}\``);
  });
});
