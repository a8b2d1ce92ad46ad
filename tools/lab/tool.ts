/**
 * Runs the few programs of the machine that the lab needs (apt-get, apt-cache, dpkg-deb) and returns what they print.
 * Owns the error message when one is missing or fails. Never goes through a shell, never asks for root.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { RoceError } from 'rocev2/packets';

export interface ToolOptions {
  readonly cwd?: string;
  /** Bytes for standard input; without it the program reads nothing. */
  readonly input?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** Exit codes that are not a failure; default only 0. */
  readonly accept?: readonly number[];
  /** Takes standard output as it comes; the returned bytes are then empty. */
  readonly onOutput?: (chunk: Uint8Array) => void;
}

/**
 * Runs a program to its end and returns its standard output.
 * Throws `RoceError` when it is missing (`ERR_ROCE_LINK_UNAVAILABLE`) or fails, with the last line of its standard
 * error.
 */
export function runTool(name: string, args: readonly string[], options: ToolOptions = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, {
      cwd: options.cwd,
      env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['pipe', 'pipe', 'pipe'],
      signal: options.signal,
    });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => {
      if (options.onOutput === undefined) output.push(chunk);
      else options.onOutput(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    // A program that stops reading early reports that by its exit code.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.once('error', (cause) => reject(startFailure(name, cause)));
    child.once('close', (code, signal) => {
      if (code !== null && (options.accept ?? [0]).includes(code)) resolve(Buffer.concat(output));
      else reject(runFailure(name, code ?? signal, Buffer.concat(errors).toString('utf8')));
    });
  });
}

/** The full path of a program on PATH, or undefined. */
export function findTool(name: string): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '');
  return candidates.map((directory) => join(directory, name)).find(isRunnable);
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function startFailure(name: string, cause: Error): RoceError {
  if ('code' in cause && cause.code === 'ENOENT') {
    return new RoceError(
      'ERR_ROCE_LINK_UNAVAILABLE',
      `the lab needs the program ${name}, which is not installed here`,
      {
        cause,
      },
    );
  }
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${name} could not be run: ${cause.message}`, { cause });
}

function runFailure(name: string, status: number | string | null, stderr: string): RoceError {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  // apt marks its errors with "E:"; a warning printed after one is not the reason.
  const reason = lines.filter((line) => line.startsWith('E:')).at(0) ?? lines.at(-1) ?? 'it printed no reason';
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${name} failed (${status}): ${reason.trim()}`);
}
