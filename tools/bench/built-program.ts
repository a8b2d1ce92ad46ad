/**
 * The program as it is installed: compiled, and not translated while it starts, which takes longer than the start
 * itself.
 *
 * Owns the way from the sources to a folder that runs. Leaves `dist` alone, which may be in use.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Compiles both packages into `folder`, which lies outside of the repository: the tools into `folder/dist`, the library
 * into `folder/rocev2`, where the tools find it as they find an installed one. Throws with the compiler's words when
 * that fails.
 */
export function buildProgram(folder: string): void {
  const library = join(folder, 'rocev2');
  compile('tsconfig.build.json', join(library, 'dist'));
  copyFileSync(join(ROOT, 'package.json'), join(library, 'package.json'));
  compile('tools/tsconfig.build.json', join(folder, 'dist'));
  copyFileSync(join(ROOT, 'tools/package.json'), join(folder, 'package.json'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    symlinkSync(name === 'rocev2' ? library : join(ROOT, 'node_modules', name), join(modules, name));
  run('bundle-analyze.mjs', [join(ROOT, 'tools/bundle-analyze.mjs'), join(folder, 'dist')]);
}

function compile(project: string, outDir: string): void {
  const args = ['--project', project, '--noCheck', '--declaration', 'false', '--outDir', outDir];
  run('tsc', [join(ROOT, 'node_modules/typescript/bin/tsc'), ...args]);
}

function run(name: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the program is not built: ${name}: ${error?.message ?? stdout + stderr}`);
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
