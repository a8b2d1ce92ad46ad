/**
 * The columns of the table in docs/uverbs.md beside the first: where the other end of a conversation is. Owns which end
 * is which, and what a column's cell says.
 */
import type { TsharkView } from './captures.ts';
import { NO_END, type ProgramCase } from './case.ts';
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

/** Those of them that a column runs. */
export function casesOf(column: Column): readonly ProgramCase[] {
  return BETWEEN_CASES.filter(({ serverOnRxe }) => column !== 'second server' || serverOnRxe !== true);
}

/**
 * Runs a program in a column. Each second one has its server here, and where it is here with one kernel it is there
 * with the other. Run again is what loses a race against itself, and what gave up while a guest stood still; `onAgain`
 * is told of it, so that nothing passes at its second run in silence.
 */
export async function runInColumn(
  column: Column,
  stage: ProgramStage,
  one: ProgramCase,
  directory: string,
  onAgain: (faults: readonly string[]) => void = () => undefined,
): Promise<CaseOutcome> {
  const odd = (BETWEEN_CASES.indexOf(one) + (column === 'rxe 6.1' ? 1 : 0)) % 2 === 1;
  const here = one.serverOnRxe !== true && (odd || one.racy !== undefined);
  const serverIs: Side = here ? 'here' : 'there';
  const isExcused = ({ faults, printed }: CaseOutcome): boolean =>
    faults.length > 0 &&
    (one.racy === undefined
      ? GAVE_UP.test(printed) && column !== 'second server'
      : faults.includes(NO_END) || one.racy.test(printed));
  const there = column === 'second server' ? one : { ...one, ...one.onRxe };
  let outcome = await stage.run(there, directory, serverIs);
  for (let again = 1; again < MOST_RUNS && isExcused(outcome); again++) {
    onAgain(outcome.faults);
    outcome = await stage.run(there, `${directory}-${again}`, serverIs);
  }
  return outcome;
}

/** What a cell says of a program that is in the column. */
export function cellOf({ case: { refused, onRxe }, faults, roceFrames }: CaseOutcome, tshark: TsharkView): string {
  if (faults.length > 0) return `**fails**: ${faults.join('; ').replaceAll('|', '\\|').replaceAll('\n', ' ')}`;
  if (tshark.malformed > 0) return `tshark finds ${tshark.malformed} malformed`;
  if (tshark.roceFrames !== roceFrames) return `tshark finds ${tshark.roceFrames} RoCE packets of ${roceFrames}`;
  if (refused === undefined) return 'runs';
  return refused === onRxe?.refused ? `not on rdma_rxe: ${refused}` : 'fails alike';
}

/** The end of all retries, as libibverbs names it: an emulated guest stands still for as long at times. */
const GAVE_UP = /retry counter exceeded/;
const MOST_RUNS = 4;
