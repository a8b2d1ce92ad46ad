/**
 * Bootable guests, built from Debian packages and cached: a kernel as an ELF file and one uncompressed initramfs (userland, then
 * modules; unpacking it costs an emulated processor less than decompressing it). Owns the cache's layout:
 *
 *   CACHE/parts/userland-RECIPE-VERSIONS/{userland.cpio,manifest.json}
 *   CACHE/images/KERNEL-RECIPE-VERSIONS/{kernel,initrd,manifest.json}
 *
 * RECIPE hashes what this program asks for, VERSIONS the packages it got. A directory is written elsewhere and renamed into
 * place whole, so builds may run side by side. Nothing is fetched while an image of the recipe is there.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { RoceError } from '../../packets/errors.ts';
import { type CpioEntry, writeCpio } from './cpio.ts';
import { decompress, readPackage } from './deb.ts';
import { AGENT_SCRIPT, INIT_SCRIPT } from './init.ts';
import { extractKernel } from './kernel.ts';
import { moduleName, parseBuiltin, resolveModules, writeModulesDep } from './modules.ts';
import { type PackageRecord, resolvePackages } from './packages.ts';
import * as recipe from './recipe.ts';
import { AptRoot } from './sources.ts';
import type { TarEntry } from './tar.ts';
import { isUserlandPath, userlandEntries } from './userland.ts';

export interface Image {
  readonly kernel: recipe.KernelLabel;
  /** What `uname -r` prints in the guest. */
  readonly release: string;
  readonly kernelPath: string;
  readonly initrdPath: string;
  /** Package versions, by package. */
  readonly packages: Readonly<Record<string, string>>;
}

export interface BuildOptions {
  /** Default: `ROCE_LAB_CACHE`, else ~/.cache/rocev2/lab. */
  readonly cacheDirectory?: string | undefined;
  /** Asks the mirror for newer packages even though an image is there. */
  readonly refresh?: boolean | undefined;
  /** Told one line for each step that takes time. */
  readonly log?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The image of a kernel generation, from the cache or built. Throws `RoceError` when the machine cannot build one. */
export async function buildImage(kernel: recipe.KernelLabel, options: BuildOptions = {}): Promise<Image> {
  const cache = options.cacheDirectory ?? defaultCacheDirectory();
  const userland = await userlandPart(cache, options);
  // The image holds the userland, so its key does too.
  const prefix = `${kernel}-${hash([kernelRecipe(), basename(userland)])}`;
  const directory = await buildPart(join(cache, 'images'), prefix, options, (scratch) =>
    buildKernel(kernel, scratch, userland, options),
  );
  return readImage(directory);
}

/** Versions of the packages that every guest's programs are from, by package. Rejects as `buildImage` does. */
export async function userlandPackages(options: BuildOptions = {}): Promise<Readonly<Record<string, string>>> {
  const directory = await userlandPart(options.cacheDirectory ?? defaultCacheDirectory(), options);
  return (await readManifest(directory)).packages;
}

/** The images in the cache, whole ones only, oldest first. */
export async function listImages(cacheDirectory = defaultCacheDirectory()): Promise<Image[]> {
  const directories = await wholeDirectories(join(cacheDirectory, 'images'), '');
  return Promise.all(directories.map(readImage));
}

/** Removes the cache; guests that run keep running. */
export async function cleanImages(cacheDirectory = defaultCacheDirectory()): Promise<void> {
  for (const part of ['parts', 'images', 'scratch']) {
    await rm(join(cacheDirectory, part), { recursive: true, force: true });
  }
}

export function defaultCacheDirectory(): string {
  const directory = process.env['ROCE_LAB_CACHE'];
  return directory === undefined || directory === '' ? join(homedir(), '.cache', 'rocev2', 'lab') : directory;
}

function userlandPart(cache: string, options: BuildOptions): Promise<string> {
  return buildPart(join(cache, 'parts'), `userland-${userlandRecipe()}`, options, (scratch) =>
    buildUserland(scratch, options),
  );
}

/** What a build writes into its scratch directory's `out`, and which packages it came from. */
interface Built {
  readonly release: string;
  readonly packages: readonly PackageRecord[];
}

/** The newest whole directory of that prefix, or a new one that `build` fills. */
async function buildPart(
  parent: string,
  prefix: string,
  options: BuildOptions,
  build: (scratch: string) => Promise<Built>,
): Promise<string> {
  const existing = (await wholeDirectories(parent, `${prefix}-`)).at(-1);
  if (existing !== undefined && options.refresh !== true) return existing;
  const scratchParent = join(parent, '..', 'scratch');
  await mkdir(scratchParent, { recursive: true });
  await mkdir(parent, { recursive: true });
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

async function buildUserland(scratch: string, options: BuildOptions): Promise<Built> {
  options.log?.(`userland: packages of ${recipe.USERLAND_SUITE}`);
  const apt = await AptRoot.create(join(scratch, 'apt'), recipe.USERLAND_SUITE, options.signal);
  const wanted = Object.keys(recipe.USERLAND_PROGRAMS);
  const records = await resolvePackages(wanted, (names) => apt.show(names), recipe.isLibraryPackage);
  options.log?.(`userland: downloading ${records.length} packages`);
  const files = await apt.download(records, join(scratch, 'debs'));
  const packages = new Map<string, TarEntry[]>();
  for (const file of files) {
    packages.set(basename(file).split('_', 1)[0] ?? file, await readPackage(file, isUserlandPath, options.signal));
  }
  await writeFile(join(scratch, 'out', 'userland.cpio'), writeCpio(userlandEntries(packages)));
  return { release: recipe.USERLAND_SUITE, packages: records };
}

async function buildKernel(
  kernel: recipe.KernelLabel,
  scratch: string,
  userland: string,
  options: BuildOptions,
): Promise<Built> {
  const suite = recipe.KERNEL_SUITES[kernel];
  options.log?.(`kernel ${kernel}: packages of ${suite}`);
  const apt = await AptRoot.create(join(scratch, 'apt'), suite, options.signal);
  const all = await resolvePackages([recipe.KERNEL_METAPACKAGE], (names) => apt.show(names), recipe.isKernelPart);
  const records = all.filter((record) => record.name !== recipe.KERNEL_METAPACKAGE);
  options.log?.(`kernel ${kernel}: downloading ${records.map((record) => record.name).join(', ')}`);
  const entries: TarEntry[] = [];
  for (const file of await apt.download(records, join(scratch, 'debs'))) {
    entries.push(...(await readPackage(file, isKernelPath, options.signal)));
  }
  const image = entries.find((entry) => entry.kind === 'file' && KERNEL_IMAGE.test(entry.path));
  const release = entries.flatMap((entry) => /lib\/modules\/([^/]+)\/kernel\//.exec(entry.path)?.[1] ?? []).at(0);
  if (image === undefined || release === undefined) {
    throw new RoceError(
      'ERR_ROCE_LINK_UNAVAILABLE',
      `the kernel packages of ${suite} hold no kernel where one is expected`,
    );
  }
  options.log?.(`kernel ${kernel}: ${release}`);
  const modules = writeCpio(await moduleEntries(release, entries, options.signal));
  const out = join(scratch, 'out');
  await writeFile(join(out, 'kernel'), await extractKernel(image.data, options.signal));
  await writeFile(join(out, 'initrd'), Buffer.concat([await readFile(join(userland, 'userland.cpio')), modules]));
  return { release, packages: records };
}

async function moduleEntries(
  release: string,
  entries: readonly TarEntry[],
  signal?: AbortSignal,
): Promise<CpioEntry[]> {
  const byName = new Map(
    entries.flatMap((entry) => {
      const name = moduleName(entry.path);
      return name === undefined ? [] : [[name, entry] as const];
    }),
  );
  const builtin = entries.find((entry) => entry.path.endsWith('/modules.builtin'));
  const source = {
    builtin: parseBuiltin(builtin?.data.toString('utf8') ?? ''),
    mayBeAbsent: recipe.OPTIONAL_MODULES,
    load: async (name: string) => {
      const entry = byName.get(name);
      if (entry === undefined) return undefined;
      if (entry.path.endsWith('.xz')) return decompress(entry.data, 'xz', signal);
      return entry.path.endsWith('.zst') ? decompress(entry.data, 'zst', signal) : entry.data;
    },
  };
  const boot = await resolveModules(recipe.BOOT_MODULES, source);
  const all = await resolveModules([...recipe.BOOT_MODULES, ...recipe.EXTRA_MODULES], source);
  const directory = `usr/lib/modules/${release}`;
  const text = (path: string, content: string): CpioEntry => {
    return { path, kind: 'file', mode: 0o644, data: Buffer.from(content, 'utf8') };
  };
  return [
    ...all.map(({ name, data }): CpioEntry => ({ path: `${directory}/${name}.ko`, kind: 'file', mode: 0o644, data })),
    text(`${directory}/modules.dep`, writeModulesDep(all)),
    text('etc/lab/modules', boot.map(({ name }) => `${name}\n`).join('')),
  ];
}

function isKernelPath(path: string): boolean {
  if (KERNEL_IMAGE.test(path) || path.endsWith('/modules.builtin')) return true;
  return moduleName(path) !== undefined && !recipe.isForeignTree(path);
}

/** /boot/vmlinuz-RELEASE, or beside the modules since Debian's 7.x packages. */
const KERNEL_IMAGE = /^(?:boot\/vmlinuz-[^/]+|usr\/lib\/modules\/[^/]+\/vmlinuz)$/;
const MANIFEST = 'manifest.json';
/** Raised when the code changes what it makes of the same recipe. */
const RECIPE_VERSION = 4;

function userlandRecipe(): string {
  return hash([RECIPE_VERSION, recipe.USERLAND_SUITE, recipe.USERLAND_PROGRAMS, INIT_SCRIPT, AGENT_SCRIPT]);
}

function kernelRecipe(): string {
  return hash([RECIPE_VERSION, recipe.KERNEL_SUITES, recipe.BOOT_MODULES, recipe.EXTRA_MODULES]);
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}

async function readImage(directory: string): Promise<Image> {
  const { release, packages } = await readManifest(directory);
  const kernel = recipe.KERNELS.find((label) => basename(directory).startsWith(`${label}-`));
  if (kernel === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', `${directory} is not an image of the lab`);
  return { kernel, release, kernelPath: join(directory, 'kernel'), initrdPath: join(directory, 'initrd'), packages };
}

async function readManifest(directory: string): Promise<{ release: string; packages: Record<string, string> }> {
  return JSON.parse(await readFile(join(directory, MANIFEST), 'utf8')) as never;
}

async function isWhole(directory: string): Promise<boolean> {
  return (await stat(join(directory, MANIFEST)).catch(() => undefined)) !== undefined;
}

async function wholeDirectories(parent: string, prefix: string): Promise<string[]> {
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
