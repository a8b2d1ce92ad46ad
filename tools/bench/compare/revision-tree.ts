/**
 * A revision of the repository as a folder in which its own benches run.
 *
 * Owns the temporary work tree of git and its `node_modules`: those of this clone where both lock files are the same,
 * otherwise installed. The packages of the repository itself are always those of the revision.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This clone, with whatever is not committed. */
export const THIS_TREE = fileURLToPath(new URL('../../..', import.meta.url));

export interface RevisionTree {
  /** The abbreviated hash of its commit. */
  readonly name: string;
  readonly folder: string;
  /** Deletes it. */
  remove(): void;
}

/** Checks a revision out. Throws with the words of git or npm when that fails. */
export function checkOut(revision: string): RevisionTree {
  const name = git('rev-parse', '--verify', '--short', '--end-of-options', `${revision}^{commit}`).trim();
  const parent = mkdtempSync(join(tmpdir(), 'rocev2-compare-'));
  const folder = join(parent, name);
  const remove = (): void => {
    rmSync(parent, { recursive: true, force: true });
    git('worktree', 'prune');
  };
  try {
    git('worktree', 'add', '--quiet', '--detach', folder, name);
    addPackages(folder);
  } catch (error) {
    remove();
    throw error;
  }
  return { name, folder, remove };
}

function addPackages(folder: string): void {
  const lockFile = (tree: string): string => readFileSync(join(tree, 'package-lock.json'), 'utf8');
  if (lockFile(folder) !== lockFile(THIS_TREE)) {
    run('npm', ['ci', '--no-audit', '--no-fund'], folder);
    return;
  }
  const [from, to] = [THIS_TREE, folder].map((tree) => join(tree, 'node_modules')) as [string, string];
  mkdirSync(to);
  for (const name of readdirSync(from)) if (isPackage(name)) symlinkSync(join(from, name), join(to, name));
  symlinkSync(folder, join(to, 'rocev2'));
}

/**
 * What is not the repository's own, and no cache: what this clone has built there would be measured in place of what
 * the revision builds.
 */
export function isPackage(name: string): boolean {
  return !name.startsWith('rocev2') && (!name.startsWith('.') || name === '.bin');
}

function git(...args: string[]): string {
  return run('git', args, THIS_TREE);
}

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? (stderr.trim() || `it ended with ${status}`)}`);
}
