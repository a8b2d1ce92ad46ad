/** Where what a tool says goes: lines, apart from complaints. Owns the standard streams as such a place. */

export interface ToolOutput {
  /** What belongs to standard output. */
  line(text: string): void;
  /** What belongs to standard error. */
  complaint(text: string): void;
}

export const terminal: ToolOutput = {
  line: (text) => process.stdout.write(`${text}\n`),
  complaint: (text) => process.stderr.write(`${text}\n`),
};
