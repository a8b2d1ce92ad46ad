/**
 * What mpirun runs in the place of ssh: a program that is given a host's name and a line for a shell there. Owns the
 * program, which leaves the line in a file and ends, and who waits for that file.
 */
import { readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The program, and what it has been given. */
export interface MpiAgent {
  /** For `--mca plm_rsh_agent`. */
  readonly path: string;
  /** The line. Never settles when nobody runs the program. */
  readonly asked: Promise<string>;
  close(): void;
}

/** @param directory for the program and its file: an absolute path, and in no need of quotes for mpirun */
export function openAgent(directory: string): MpiAgent {
  const [path, left] = [join(directory, 'agent'), join(directory, 'asked')];
  writeFileSync(left, '');
  writeFileSync(path, `#!/bin/sh\nshift\nprintf '%s\\n' "$*" > '${left}'\n`, { mode: 0o755 });
  const watching = watch(directory);
  const asked = new Promise<string>((resolve) => {
    watching.on('change', () => {
      const [line = '', ...rest] = readFileSync(left, 'utf8').split('\n');
      if (rest.length > 0) resolve(line);
    });
  });
  return { path, asked, close: () => watching.close() };
}
