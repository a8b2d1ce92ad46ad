/**
 * What came of the tests of pyverbs, as run-tests.py prints it: one line of JSON for each. Owns the verdicts, and what
 * of a reason is kept: nothing that differs from run to run.
 */
import { RoceError } from 'rocev2/packets';
import { z } from 'zod';

/** `skip`: the test says itself that the device or the machine lacks what it is about. */
export const VERDICTS = ['pass', 'skip', 'fail', 'error', 'timeout'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** How one test ended. */
export interface Outcome {
  readonly verdict: Verdict;
  /** Why it did not pass; empty where it did. */
  readonly why: string;
}

/** By the names of the tests, module, class and method, in the order in which they were run. */
export type Outcomes = ReadonlyMap<string, Outcome>;

/** The outcomes among what the runner has printed. Throws ERR_ROCE_ARGUMENT for lines that it does not print. */
export function parseOutcomes(text: string): Outcomes {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return new Map(
    lines.map((line) => {
      const { name, verdict, why } = parseLine(line);
      return [name, { verdict, why: steady(why) }];
    }),
  );
}

const LINE = z.object({ name: z.string(), verdict: z.enum(VERDICTS), why: z.string() });

function parseLine(line: string): z.infer<typeof LINE> {
  try {
    return LINE.parse(JSON.parse(line));
  } catch (cause) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `run-tests.py does not print such a line: ${line}`, { cause });
  }
}

/** On one line, and without addresses and long numbers. */
function steady(why: string): string {
  return why
    .replace(/0x[0-9a-f]+/gi, '0x…')
    .replace(/\d{5,}/g, '…')
    .replace(/\s+/g, ' ')
    .trim();
}
