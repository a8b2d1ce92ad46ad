/**
 * The columns of the table in docs/uverbs.md beside the first: where the other end of a conversation is. Owns which end
 * is which, and what a column's cell says.
 */
import type { TsharkView } from './captures.ts';
import type { ProgramCase } from './case.ts';
import { PROGRAM_CASES } from './index.ts';
import type { CaseOutcome } from './run-case.ts';
import { openGuest, openVeth, type ProgramStage, type Side } from './stage.ts';

/** In the page's order. */
export const COLUMNS = ['second server', 'rxe 6.1', 'rxe 6.12'] as const;
export type Column = (typeof COLUMNS)[number];

/** Opens the hosts of a column. Rejects as `openVeth` and `openGuest` do. */
export function openColumn(column: Column, shim: string): Promise<ProgramStage> {
  if (column === 'second server') return openVeth(shim);
  return openGuest(column === 'rxe 6.1' ? '6.1' : '6.12', shim);
}

/** Programs that a column has: those of two command lines, on a wire that loses nothing. */
export const BETWEEN_CASES: readonly ProgramCase[] = PROGRAM_CASES.filter(
  ({ lines, loss }) => lines.length === 2 && loss === undefined,
);

/**
 * Runs a program in a column. Each second one has its server here, and where it is here with one kernel it is there
 * with the other. A program that gave up for the other host stood still is run once more, if that is a guest.
 */
export async function runInColumn(
  column: Column,
  stage: ProgramStage,
  one: ProgramCase,
  directory: string,
): Promise<CaseOutcome> {
  const odd = (BETWEEN_CASES.indexOf(one) + (column === 'rxe 6.1' ? 1 : 0)) % 2 === 1;
  const serverIs: Side = odd ? 'here' : 'there';
  const outcome = await stage.run(one, directory, serverIs);
  const stoodStill = outcome.faults.length > 0 && GAVE_UP.test(outcome.printed) && column !== 'second server';
  return stoodStill ? stage.run(one, `${directory}-again`, serverIs) : outcome;
}

/** What a cell says of a program that is in the column. */
export function cellOf({ case: { refused }, faults, roceFrames }: CaseOutcome, tshark: TsharkView): string {
  if (faults.length > 0) return `**fails**: ${faults.join('; ').replaceAll('|', '\\|').replaceAll('\n', ' ')}`;
  if (tshark.malformed > 0) return `tshark finds ${tshark.malformed} malformed`;
  if (tshark.roceFrames !== roceFrames) return `tshark finds ${tshark.roceFrames} RoCE packets of ${roceFrames}`;
  return refused === undefined ? 'runs' : 'fails alike';
}

/** What libibverbs calls the end of the retries: an emulated guest stands still for as long now and then. */
const GAVE_UP = /retry counter exceeded/;
