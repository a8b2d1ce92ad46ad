/**
 * The columns of the table in docs/uverbs.md beside the first: where the other end of a conversation is. Owns which end
 * is which, and what a column's cell says.
 */
import type { TsharkView } from './captures.ts';
import type { ProgramCase } from './case.ts';
import { PROGRAM_CASES } from './index.ts';
import { FEW_MESSAGES } from './middleware.ts';
import type { CaseOutcome } from './run-case.ts';
import { openGuest, openVeth, type ProgramStage, type Side } from './stage.ts';

/** In the page's order. */
export const COLUMNS = ['second server', 'rxe 6.1', 'rxe 6.12'] as const;
export type Column = (typeof COLUMNS)[number];

/**
 * Opens the hosts of a column. When `until` aborts, programs there are ended, and a guest boots no further. Rejects as
 * `openVeth` and `openGuest` do.
 */
export function openColumn(column: Column, shim: string, until?: AbortSignal): Promise<ProgramStage> {
  if (column === 'second server') return openVeth(shim, until);
  return openGuest(column === 'rxe 6.1' ? '6.1' : '6.12', shim, until);
}

const TWO_ENDED = PROGRAM_CASES.filter(({ lines }) => lines.length === 2);

/** Programs that every column has: those of two command lines, on a wire that loses nothing. */
export const BETWEEN_CASES: readonly ProgramCase[] = TWO_ENDED.filter(({ loss }) => loss === undefined);

/** With rdma_rxe, where each loss may cost an emulated guest a second: those that tell most about who repairs it. */
const LOSSY_WITH_RXE = TWO_ENDED.filter(
  ({ lines, loss }) => loss !== undefined && /^(?:rping|ib_(?:write|read|send)_bw) /.test(lines[1] ?? ''),
);

/**
 * What a column runs: between servers of ours, losses too, and ranks of MPI, half of them on each host; with rdma_rxe,
 * some of both.
 */
export function casesOf(column: Column): readonly ProgramCase[] {
  if (column !== 'second server') return [...BETWEEN_CASES, ...LOSSY_WITH_RXE, ...FEW_MESSAGES];
  return PROGRAM_CASES.filter(({ lines }) => lines.length === 2 || lines[0].startsWith('mpirun'));
}

/**
 * Runs a program in a column. Each second one has its server here, and where it is here with one kernel it is there
 * with the other. What gave up while a guest stood still is run once again, which the outcome says.
 */
export async function runInColumn(
  column: Column,
  stage: ProgramStage,
  one: ProgramCase,
  directory: string,
): Promise<CaseOutcome> {
  const at = [...BETWEEN_CASES, ...LOSSY_WITH_RXE].indexOf(one);
  const odd = (at + (column === 'rxe 6.1' ? 1 : 0)) % 2 === 1;
  const serverIs: Side = odd ? 'here' : 'there';
  if (column === 'second server') return stage.run(one, directory, serverIs);
  const there = { ...one, ...one.onRxe };
  const outcome = await stage.run(there, directory, serverIs);
  if (outcome.faults.length === 0 || !GAVE_UP.test(outcome.printed)) return outcome;
  return { ...(await stage.run(there, `${directory}-again`, serverIs)), before: outcome.faults };
}

/** What a cell says of a second run. */
export const AGAIN = ', the second time: the guest stood still';

/** What a cell says of a program that is in the column. */
export function cellOf(outcome: CaseOutcome, tshark: TsharkView): string {
  return `${wordsOf(outcome, tshark)}${outcome.before === undefined ? '' : AGAIN}`;
}

function wordsOf({ case: { refused, onRxe }, faults, roceFrames }: CaseOutcome, tshark: TsharkView): string {
  if (faults.length > 0) return `**fails**: ${faults.join('; ').replaceAll('|', '\\|').replaceAll('\n', ' ')}`;
  if (tshark.malformed > 0) return `tshark finds ${tshark.malformed} malformed`;
  if (tshark.roceFrames !== roceFrames) return `tshark finds ${tshark.roceFrames} RoCE packets of ${roceFrames}`;
  if (refused === undefined) return 'runs';
  return refused === onRxe?.refused ? `not on rdma_rxe: ${refused}` : 'fails alike';
}

/** The end of all retries, as libibverbs names it: an emulated guest stands still for as long at times. */
const GAVE_UP = /retry counter exceeded/;
