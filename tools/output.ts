/**
 * Where what a tool says goes: lines, apart from complaints. Owns the standard streams as such a place, and is the only
 * one to write text to them (`dump/output.ts` does for what streams): nothing that is printed reaches a terminal with
 * control characters of others in it.
 */
import { visible } from './visible-text.ts';

export interface ToolOutput {
  /** What belongs to standard output. */
  line(text: string): void;
  /** What belongs to standard error. */
  complaint(text: string): void;
}

export const terminal: ToolOutput = {
  line: (text) => print(`${text}\n`),
  complaint: (text) => complain(`${text}\n`),
};

/** Text of any number of lines for standard output. @param kept see `visible` */
export function print(text: string, kept?: RegExp): void {
  process.stdout.write(visible(text, kept));
}

/** The same for standard error. */
export function complain(text: string): void {
  process.stderr.write(visible(text));
}

/**
 * A line on a terminal that is written over: `text` has to be our own. Nothing where standard error is no terminal.
 */
export function overwriteLine(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${visible(text)}`);
}
