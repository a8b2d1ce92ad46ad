/**
 * Goal: the table of programs in docs/uverbs.md has a row for each program of the registry, and no other, and none that
 * fails. Method: the page as it is; rows made of outcomes that were made up. That the rows are true a long test shows.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nameOf, type ProgramCase } from '../../tools/uverbs/programs/case.ts';
import { PROGRAM_CASES } from '../../tools/uverbs/programs/index.ts';
import { PAGE, programTables, rowCount, rowOf, rowsIn, withPrograms } from '../../tools/uverbs/programs/page.ts';

const page = readFileSync(PAGE, 'utf8');

describe('the table of programs', () => {
  it('has each program of the registry once', () => {
    expect(new Set(PROGRAM_CASES.map(nameOf)).size).toBe(PROGRAM_CASES.length);
    expect(rowCount(page)).toBe(PROGRAM_CASES.length);
    expect([...rowsIn(page)].filter(([, row]) => row === '').map(([name]) => name)).toEqual([]);
    expect([...rowsIn(page).values()].filter((row) => row.includes('**fails**'))).toEqual([]);
  });

  it('is made of its rows', () => {
    const rows = rowsIn(page);
    const versions = new Map(PROGRAM_CASES.map(({ from }) => [from, versionIn(from)] as const));
    expect(withPrograms(page, programTables(rows, versions))).toBe(page);
  });

  it('tells what is wrong', () => {
    const one: ProgramCase = { from: 'perftest', lines: ['ib_send_bw'], prints: /./ };
    const row = (
      more: Partial<ProgramCase>,
      faults: readonly string[],
      malformed: number,
      roceFrames: number,
    ): string => {
      const outcome = { case: { ...one, ...more }, faults, printed: '', capture: '', frames: 9, roceFrames: 8 };
      return rowOf({ outcome, tshark: { malformed, roceFrames } });
    };
    expect(row({}, [], 0, 8)).toBe('| `ib_send_bw` | runs | clean |');
    expect(row({ loss: 0.01 }, [], 0, 8)).toBe('| `ib_send_bw`, 1 % loss | runs | clean, with losses |');
    expect(row({ note: 'slowly' }, [], 1, 8)).toBe('| `ib_send_bw` | runs; slowly | tshark finds 1 malformed |');
    expect(row({}, ['exit code 1', 'a|b'], 0, 7)).toBe(
      '| `ib_send_bw` | **fails**: exit code 1; a\\|b | tshark finds 7 RoCE packets of 8 |',
    );
    expect(row({ refused: 'no' }, [], 0, 8)).toBe('| `ib_send_bw` | not on rdma_rxe either: no | clean |');
  });
});

/** As the page has it: a table says with which version its programs ran. */
function versionIn(name: string): string {
  return new RegExp(`^### ${name} (\\S+)$`, 'm').exec(page)?.[1] ?? '';
}
