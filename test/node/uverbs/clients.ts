/**
 * The C program of the shim's tests, built with one of the compiler's sanitizers, and its runs. Each run is one case.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const SHIM = fileURLToPath(new URL('../../../tools/uverbs/shim/', import.meta.url));
const CLIENT = fileURLToPath(new URL('./shim-client.c', import.meta.url));
const run = promisify(execFile);

/** Warnings are errors. */
const STRICT = [
  '-std=gnu11',
  '-D_GNU_SOURCE',
  '-g',
  '-O1',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-pthread',
  '-fno-sanitize-recover=all',
];

/** Compiles the shim into the client: its path. */
export async function buildClient(directory: string, sanitizer: string): Promise<string> {
  const program = join(directory, `client-${sanitizer}`);
  const sources = readdirSync(SHIM).filter((name) => name.endsWith('.c'));
  await run('cc', [
    ...STRICT,
    `-fsanitize=${sanitizer}`,
    CLIENT,
    ...sources.map((name) => join(SHIM, name)),
    '-ldl',
    '-o',
    program,
  ]);
  return program;
}

/** Runs a case to its end: what it has complained of, empty for none. Rejects when it takes too long. */
export async function runCase(program: string, name: string, socket: string): Promise<string> {
  const env = { ...process.env, ROCE_UVERBS: socket };
  try {
    await run(program, [name], { env, timeout: 60_000 });
    return '';
  } catch (error) {
    return error instanceof Error && 'stderr' in error ? `${error.message}\n${String(error.stderr)}` : String(error);
  }
}

/** Starts a case that says when it is ready. */
export async function startCase(program: string, name: string, socket: string): Promise<ChildProcess> {
  const child = spawn(program, [name], {
    env: { ...process.env, ROCE_UVERBS: socket },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

/** The exit code, or the signal. */
export function ended(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
}
