/**
 * Goal: the table of cells makes sound experiments, and covers what the matrix is to cover. Method: make all of them,
 * with guests in one role and in both, and look at names, tools and filters.
 */
import { describe, expect, it } from 'vitest';
import { filterProblems } from '../../../tools/experiment/filters.ts';
import { SLOW_HOST_WARNINGS } from '../../../tools/experiment/findings.ts';
import { findProgram } from '../../../tools/experiment/programs/index.ts';
import { type InteropCell, PATH_MTUS } from '../../../tools/interop/cell.ts';
import { CELLS } from '../../../tools/interop/cells/index.ts';
import { caseName, matrixExperiment, pairExperiment } from '../../../tools/interop/experiments.ts';
import { entriesOf } from '../../../tools/interop/matrix-run.ts';
import { itWith } from '../../support/need.ts';

const entries = entriesOf(CELLS);
const ofMtu =
  (mtu: number) =>
  ({ interfaceMtu }: InteropCell) =>
    interfaceMtu === mtu;
const experiments = PATH_MTUS.map((mtu) =>
  matrixExperiment(
    '6.12',
    mtu,
    entries.filter(({ cell }) => ofMtu(mtu)(cell)),
  ),
);
const toolsOf = (cells: readonly InteropCell[]): string[] => [...new Set(cells.map(({ tool }) => tool))];

describe('the cells', () => {
  it('are each run with the guest in both roles, and have names of their own', () => {
    const names = entries.map(caseName);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(CELLS.length * 2);
  });

  it('can be told apart on the page', () => {
    const labels = CELLS.map(({ tool, options, ip, pathMtu }) => [tool, options, ip, pathMtu].join('|'));
    expect(new Set(labels).size).toBe(labels.length);
  });

  it('are each held to a capture without an alarm that a slow guest does not explain', () => {
    const pairs = PATH_MTUS.map((mtu) => pairExperiment('6.12', mtu, CELLS.filter(ofMtu(mtu))));
    for (const { cases } of [...experiments, ...pairs]) {
      for (const { expect: expectations } of cases)
        expect(expectations).toContainEqual({ wire: 'wire', findings: [], tolerated: SLOW_HOST_WARNINGS });
    }
  });

  it('make experiments by the schema, between two guests as well', () => {
    for (const mtu of PATH_MTUS) {
      const { cases } = pairExperiment('6.1', mtu, CELLS.filter(ofMtu(mtu)));
      expect(cases.length).toBe(CELLS.filter(ofMtu(mtu)).length);
    }
    expect(experiments.flatMap(({ cases }) => cases)).toHaveLength(CELLS.length * 2);
  });

  it('have programs of ours to speak to, or say why not', () => {
    const spoken = entries.filter(({ cell }) => cell.partnerless === undefined && cell.without === undefined);
    const ours = PATH_MTUS.map((mtu) =>
      matrixExperiment(
        '6.12',
        mtu,
        spoken.filter(({ cell }) => ofMtu(mtu)(cell)),
      ),
    ).flatMap(({ cases }) =>
      cases.flatMap(({ run }) => run.flatMap((step) => ('host' in step && step.host === 'ours' ? [step.command] : []))),
    );
    expect(
      [...new Set(ours.map((command) => command.split(' ')[0]))].filter((name = '') => !findProgram(name)),
    ).toEqual([]);
  });

  it('cover every path MTU', () => {
    expect([...new Set(CELLS.map(({ pathMtu }) => pathMtu))].sort((a, b) => a - b)).toEqual(PATH_MTUS);
  });

  it('have every tool in what `npm test` runs', () => {
    expect(toolsOf(CELLS.filter(({ inCi }) => inCi))).toEqual(toolsOf(CELLS));
  });
});

itWith('tshark', 'have no filter that tshark does not understand', async () => {
  const [first, ...rest] = experiments;
  if (first === undefined) throw new Error('there is no experiment');
  const all = { ...first, cases: [first, ...rest].flatMap(({ cases }) => cases) };
  expect(await filterProblems(all)).toEqual([]);
});
