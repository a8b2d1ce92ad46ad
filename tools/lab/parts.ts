/**
 * The lab's cache: directories that are built once and then only read, named PREFIX-VERSIONS, where PREFIX hashes what
 * was asked for and VERSIONS what the packages turned out to be. A directory is written elsewhere and renamed into
 * place whole, so builds may run side by side; one without a manifest does not count. Independent of the contents.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { RoceError } from 'rocev2/packets';
import type { PackageRecord } from './packages.ts';

export interface BuildOptions {
  /** Default: `ROCE_LAB_CACHE`, else ~/.cache/rocev2/lab. */
  readonly cacheDirectory?: string | undefined;
  /** Asks the mirror for newer packages even though an image is there. */
  readonly refresh?: boolean | undefined;
  /** Called with one line for each step that takes time. */
  readonly log?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a build writes into its scratch directory's `out`, and which packages it came from. */
export interface BuiltPart {
  readonly release: string;
  readonly packages: readonly PackageRecord[];
}

/**
 * The newest whole directory of that prefix, or a new one that `build` fills. Rejects with `RoceError` when the cache
 * cannot be written.
 */
export async function buildPart(
  parent: string,
  prefix: string,
  options: BuildOptions,
  build: (scratch: string) => Promise<BuiltPart>,
): Promise<string> {
  const existing = (await wholeDirectories(parent, `${prefix}-`)).at(-1);
  if (existing !== undefined && options.refresh !== true) return existing;
  const scratchParent = join(parent, '..', 'scratch');
  await makeDirectories(scratchParent);
  await makeDirectories(parent);
  const scratch = await mkdtemp(join(scratchParent, 'build-'));
  try {
    await mkdir(join(scratch, 'out'));
    const built = await build(scratch);
    const packages = Object.fromEntries(built.packages.map((record) => [record.name, record.version]));
    await writeFile(
      join(scratch, 'out', MANIFEST),
      `${JSON.stringify({ release: built.release, packages }, null, 2)}\n`,
    );
    const versions = hash(built.packages.map((record) => `${record.name}=${record.version} ${record.sha256}`));
    const target = join(parent, `${prefix}-${versions}`);
    await rename(join(scratch, 'out'), target).catch(async (cause: unknown) => {
      // Another build was first, with the same packages: its result is as good.
      if (await isWhole(target)) return;
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the lab's cache ${parent} cannot be written`, { cause });
    });
    return target;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** What a directory of the cache was built from. */
export async function readManifest(directory: string): Promise<{ release: string; packages: Record<string, string> }> {
  return JSON.parse(await readFile(join(directory, MANIFEST), 'utf8')) as never;
}

/** Directories whose name begins with `prefix`, whole ones only, oldest first. */
export async function wholeDirectories(parent: string, prefix: string): Promise<string[]> {
  const names = await readdir(parent).catch(() => []);
  const found: { path: string; time: number }[] = [];
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const manifest = await stat(join(path, MANIFEST)).catch(() => undefined);
    if (manifest !== undefined) found.push({ path, time: manifest.mtimeMs });
  }
  return found.sort((a, b) => a.time - b.time).map(({ path }) => path);
}

export function defaultCacheDirectory(): string {
  const directory = process.env['ROCE_LAB_CACHE'];
  return directory === undefined || directory === '' ? join(homedir(), '.cache', 'rocev2', 'lab') : directory;
}

/** Twelve digits that stand for a value of JSON. */
export function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}

/**
 * A directory and those above it. Not by mkdir's own recursion: below a directory that takes none and says ENOENT, as
 * /proc does, that of Node 20 never ends.
 */
async function makeDirectories(path: string): Promise<void> {
  const parent = dirname(path);
  const above = await stat(parent).catch(() => undefined);
  if (above === undefined && parent !== path) await makeDirectories(parent);
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function isWhole(directory: string): Promise<boolean> {
  return (await stat(join(directory, MANIFEST)).catch(() => undefined)) !== undefined;
}

const MANIFEST = 'manifest.json';
