/**
 * What mpirun runs in the place of ssh: a program that is given a host's name and a line for a shell there. Owns the
 * program, which passes the line to this process and ends, and the pipe that it goes through.
 */
import { execFileSync } from 'node:child_process';
import { constants, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';

/** The program, and what it has been given. */
export interface MpiAgent {
  /** For `--mca plm_rsh_agent`. */
  readonly path: string;
  /** The first line. Never settles when nobody runs the program. */
  readonly asked: Promise<string>;
  close(): void;
}

/** @param directory for the program and its pipe */
export function openAgent(directory: string): MpiAgent {
  const [path, pipe] = [join(directory, 'agent'), join(directory, 'asked')];
  execFileSync('mkfifo', [pipe]);
  writeFileSync(path, `#!/bin/sh\nshift\nprintf '%s\\n' "$*" > ${pipe}\n`, { mode: 0o755 });
  // Open for both, it does not end when the program has ended, nor is anybody waited for.
  const reading = new Socket({ fd: openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
  const asked = new Promise<string>((resolve) => {
    let text = '';
    reading.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      const [line, ...others] = text.split('\n');
      if (line !== undefined && others.length > 0) resolve(line);
    });
  });
  return { path, asked, close: () => reading.destroy() };
}
