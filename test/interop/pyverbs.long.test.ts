/**
 * Goal: rdma-core's own tests end on a device of ours as docs/uverbs-pyverbs.md says, and none fails that rdma_rxe
 * passes. Method: `roce run` with the tests of Debian's package, as they are. Twenty seconds of one processor.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { behind, parsePage } from '../../tools/interop/pyverbs/page.ts';
import { type Outcomes, parseOutcomes } from '../../tools/interop/pyverbs/results.ts';
import { oursArguments, pyverbsVersion, unpackTests } from '../../tools/interop/pyverbs/suite.ts';
import { describeWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';

const PAGE = new URL('../../docs/uverbs-pyverbs.md', import.meta.url);
const directory = mkdtempSync(join(tmpdir(), 'roce-pyverbs-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Reasons to skip are the machine's too: one may have huge pages, or a graphics card. */
const verdicts = (outcomes: Outcomes) =>
  Object.fromEntries([...outcomes].map(([name, { verdict }]) => [name, verdict]));

describeWith('pyverbs', 'the tests of pyverbs', () => {
  it('end as the page says, and none is behind rdma_rxe', { timeout: 600_000 }, async () => {
    const page = parsePage(readFileSync(PAGE, 'utf8'));
    // Another version has other tests: the page has to be written anew, with its column of rdma_rxe.
    expect(page?.version).toBe(pyverbsVersion());
    const ended = await startProgram('tools/roce.ts', oursArguments(unpackTests(directory))).ended;
    expect([ended.code, ended.code === 0 ? '' : ended.stderr]).toEqual([0, '']);
    const ours = parseOutcomes(ended.stdout);
    expect(verdicts(ours)).toEqual(verdicts(page?.ours ?? new Map()));
    expect(behind({ ours, rxe: page?.rxe ?? new Map() })).toEqual([]);
  });
});
