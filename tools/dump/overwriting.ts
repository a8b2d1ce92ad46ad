/**
 * Keeps a command from writing its output over the capture that it reads, which would empty the capture first.
 */
import { fstatSync, type Stats, statSync } from 'node:fs';
import { RoceError } from 'rocev2/errors';

/**
 * Does nothing where `output` ("-": standard output) is another file than `input` ("-": standard input), or none yet.
 * @throws RoceError ERR_ROCE_ARGUMENT where both are the same file, by whatever names
 */
export function refuseOverwriting(input: string, output: string): void {
  if (output === '-') return;
  const written = statSync(output, { throwIfNoEntry: false });
  // Devices and pipes lose nothing.
  if (written === undefined || !written.isFile()) return;
  const read = input === '-' ? standardInput() : statSync(input, { throwIfNoEntry: false });
  if (read !== undefined && read.dev === written.dev && read.ino === written.ino)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${output} is the capture that is read: write to another file`);
}

/** Undefined: closed. */
function standardInput(): Stats | undefined {
  try {
    return fstatSync(STDIN);
  } catch {
    return undefined;
  }
}

const STDIN = 0;
