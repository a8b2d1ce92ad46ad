/**
 * The program as people install it: compiled, and not translated while it starts, which takes longer than the start itself.
 *
 * Owns the way from the sources to a folder that runs. Leaves `dist` alone, which may be in use.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Compiles all of it into `folder`, which lies outside; throws with the compiler's words when that fails. */
export function buildProgram(folder: string): void {
  const args = ['--project', 'tsconfig.build.json', '--noCheck', '--declaration', 'false', '--outDir', folder];
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout, error } = spawnSync(process.execPath, [compiler, ...args], { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the program does not compile: ${error?.message ?? stdout}`);
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
