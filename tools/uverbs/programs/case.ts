/**
 * A program of Debian on the device of `roce run`: what is typed, and what shows that it did its work. Owns the shape
 * of a row of the table in docs/uverbs.md; nothing here runs anything.
 */

/** Debian packages that bring programs. */
export type DebianPackage =
  | 'ibverbs-utils'
  | 'rdmacm-utils'
  | 'perftest'
  | 'qperf'
  | 'fio'
  | 'ucx-utils'
  | 'libfabric-bin'
  | 'openmpi-bin';

export interface ProgramCase {
  readonly from: DebianPackage;
  /**
   * One command line, or a server's and its client's, of which the second starts when the first listens. `{dir}` is an
   * empty directory, `{own}` the one of this file.
   */
  readonly lines: readonly [string] | readonly [string, string];
  /** What one of them prints, or both. */
  readonly prints: RegExp;
  /** Of the command [0]; or any that is not 0. */
  readonly exitCode?: number | 'failure';
  /** Share of frames that the wire loses, each way [0]. */
  readonly loss?: number;
  /** Why it does not run, and what shows that it does not on rdma_rxe of 6.12 either. */
  readonly refused?: string;
  /** What is otherwise where the other end is rdma_rxe, with its reason. */
  readonly onRxe?: Required<Pick<ProgramCase, 'exitCode' | 'prints' | 'silent' | 'refused'>>;
  /** What the reader of the table should know. */
  readonly note?: string;
  /** Its server goes on when its client has ended. */
  readonly goesOn?: boolean;
  /** Its client asks for a connection before its server listens again: the wire delays what asks. */
  readonly asksEarly?: boolean;
  /** Warnings of the analyzer that are true of it where the other host is slow. */
  readonly mayFind?: readonly string[];
  /** Nothing goes over the wire. */
  readonly silent?: boolean;
  /** What is looked at afterwards in `{dir}`; a sentence when it is not right. */
  readonly check?: (directory: string) => string | undefined;
}

/** The row's name: what is typed last, and the loss. */
export function nameOf({ lines, loss }: ProgramCase): string {
  const typed = lines.at(-1) ?? '';
  return loss === undefined ? typed : `${typed} (${loss * 100} % loss)`;
}

/** What is wrong with an exit code; undefined is that of a program that did not end. */
export function exitFault({ exitCode = 0 }: ProgramCase, code: number | undefined): string[] {
  if (code === undefined) return [NO_END];
  const isRight = exitCode === 'failure' ? code !== 0 : code === exitCode;
  return isRight ? [] : [`exit code ${code}`];
}

/** Of a program whose time is over. */
export const NO_END = 'it does not end';
