/**
 * Checks the syntax of display filters before anything is booted for them. tshark decides, on a capture without
 * packets.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LinkType, PcapngWriter } from 'rocev2/pcap';
import { tsharkRows } from '../tshark.ts';
import type { Experiment } from './types.ts';

/** The errors in the filters of an experiment, a line each with its place in the file. Needs tshark. */
export async function filterProblems({ cases }: Experiment): Promise<string[]> {
  const filters = cases.flatMap(({ expect }, index) =>
    expect.flatMap((expectation, number) =>
      'filter' in expectation ? [{ path: `cases[${index}].expect[${number}].filter`, filter: expectation.filter }] : [],
    ),
  );
  const directory = mkdtempSync(join(tmpdir(), 'roce-filters-'));
  try {
    const empty = join(directory, 'empty.pcapng');
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'none', linkType: LinkType.Ethernet });
    writeFileSync(empty, writer.take());
    // One run of tshark for all of them is enough when nothing is wrong.
    const all = filters.map(({ filter }) => `(${filter})`).join(' || ');
    if (all === '' || (await problemOf(empty, all)) === undefined) return [];
    const problems: string[] = [];
    for (const { path, filter } of filters) {
      const problem = await problemOf(empty, filter);
      if (problem !== undefined) problems.push(`${path}: ${problem}`);
    }
    return problems;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function problemOf(capture: string, filter: string): Promise<string | undefined> {
  try {
    await tsharkRows(capture, ['frame.number'], { filter });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error.message.replace(/\s*\n\s*/g, ' ');
  }
}
