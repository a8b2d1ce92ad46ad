/**
 * Bootable guests, built from Debian packages and cached: a kernel as an ELF file and one uncompressed initramfs
 * (userland, then modules; unpacking it costs an emulated processor less than decompressing it). The cache's layout is
 * that of parts.ts:
 *
 *   CACHE/parts/userland-RECIPE-VERSIONS/{userland.cpio,manifest.json}
 *   CACHE/images/KERNEL-RECIPE-VERSIONS/{kernel,initrd,manifest.json}
 *
 * Nothing is fetched while an image of the recipe is there.
 */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RoceError } from 'rocev2/packets';
import { type CpioEntry, readCpio, writeCpio } from './cpio.ts';
import { decompress, readPackage } from './deb.ts';
import { AGENT_SCRIPT, INIT_SCRIPT } from './init.ts';
import { extractKernel } from './kernel.ts';
import { moduleName, parseBuiltin, resolveModules, writeModulesDep } from './modules.ts';
import { resolvePackages } from './packages.ts';
import {
  type BuildOptions,
  type BuiltPart,
  buildPart,
  defaultCacheDirectory,
  hash,
  readManifest,
  wholeDirectories,
} from './parts.ts';
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

export interface ImageOptions extends BuildOptions {
  /** What the guest has to run. Default: 'programs'. */
  readonly userland?: recipe.Userland;
}

/** The image of a kernel generation, from the cache or built. Throws `RoceError` when the machine cannot build one. */
export async function buildImage(kernel: recipe.KernelLabel, options: ImageOptions = {}): Promise<Image> {
  const cache = options.cacheDirectory ?? defaultCacheDirectory();
  const userland = await userlandPart(options.userland ?? 'programs', cache, options);
  // The image holds the userland, so its key does too.
  const prefix = `${kernel}-${hash([kernelRecipe(), basename(userland)])}`;
  const directory = await buildPart(join(cache, 'images'), prefix, options, (scratch) =>
    buildKernel(kernel, scratch, userland, options),
  );
  return readImage(directory);
}

/** Versions of the packages that a guest's programs are from, by package. Rejects as `buildImage` does. */
export async function userlandPackages(options: ImageOptions = {}): Promise<Readonly<Record<string, string>>> {
  const { userland = 'programs', cacheDirectory = defaultCacheDirectory() } = options;
  const directory = await userlandPart(userland, cacheDirectory, options);
  return (await readManifest(directory)).packages;
}

/** Puts the files of a userland into a directory, which is made. Rejects as `buildImage` does. */
export async function unpackUserland(userland: recipe.Userland, directory: string, options: BuildOptions = {}) {
  const part = await userlandPart(userland, options.cacheDirectory ?? defaultCacheDirectory(), options);
  for (const entry of readCpio(await readFile(join(part, 'userland.cpio')))) {
    const path = join(directory, entry.path);
    if (entry.kind === 'directory') await mkdir(path, { recursive: true });
    else if (entry.kind === 'symlink') await symlink(entry.link, path);
    else if (entry.kind === 'file') await writeFile(path, entry.data, { mode: entry.mode });
  }
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

function userlandPart(userland: recipe.Userland, cache: string, options: BuildOptions): Promise<string> {
  return buildPart(join(cache, 'parts'), `userland-${userlandRecipe(userland)}`, options, (scratch) =>
    buildUserland(userland, scratch, options),
  );
}

async function buildUserland(userland: recipe.Userland, scratch: string, options: BuildOptions): Promise<BuiltPart> {
  const { suite } = recipe.USERLANDS[userland];
  options.log?.(`userland: packages of ${suite}`);
  const apt = await AptRoot.create(join(scratch, 'apt'), suite, options.signal);
  const wanted = Object.keys(recipe.programsOf(userland));
  const records = await resolvePackages(wanted, (names) => apt.show(names), recipe.isLibraryPackage);
  options.log?.(`userland: downloading ${records.length} packages`);
  const files = await apt.download(records, join(scratch, 'debs'));
  const packages = new Map<string, TarEntry[]>();
  const isWanted = (path: string): boolean => isUserlandPath(userland, path);
  for (const file of files) {
    packages.set(basename(file).split('_', 1)[0] ?? file, await readPackage(file, isWanted, options.signal));
  }
  await writeFile(join(scratch, 'out', 'userland.cpio'), writeCpio(userlandEntries(userland, packages)));
  return { release: suite, packages: records };
}

async function buildKernel(
  kernel: recipe.KernelLabel,
  scratch: string,
  userland: string,
  options: BuildOptions,
): Promise<BuiltPart> {
  const suite = recipe.KERNEL_SUITES[kernel];
  options.log?.(`kernel ${kernel}: packages of ${suite}`);
  const apt = await AptRoot.create(join(scratch, 'apt'), suite, options.signal);
  const all = await resolvePackages([kernelPackage()], (names) => apt.show(names), recipe.isKernelPart);
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
/** Raised when the code changes what it makes of the same recipe. */
const RECIPE_VERSION = 4;

function userlandRecipe(userland: recipe.Userland): string {
  const { suite } = recipe.USERLANDS[userland];
  return hash([RECIPE_VERSION, suite, recipe.programsOf(userland), INIT_SCRIPT, AGENT_SCRIPT]);
}

/**
 * What leads to the kernel: the newest of its suite, or an older one that the archive still has, by its package
 * (`linux-image-6.1.0-47-amd64`), for bugs that are fixed since.
 */
function kernelPackage(): string {
  const { ROCE_LAB_KERNEL_PACKAGE: older = '' } = process.env;
  return older === '' ? recipe.KERNEL_METAPACKAGE : older;
}

function kernelRecipe(): string {
  return hash([
    RECIPE_VERSION,
    recipe.KERNEL_SUITES,
    recipe.BOOT_MODULES,
    recipe.EXTRA_MODULES,
    ...(kernelPackage() === recipe.KERNEL_METAPACKAGE ? [] : [kernelPackage()]),
  ]);
}

async function readImage(directory: string): Promise<Image> {
  const { release, packages } = await readManifest(directory);
  const kernel = recipe.KERNELS.find((label) => basename(directory).startsWith(`${label}-`));
  if (kernel === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', `${directory} is not an image of the lab`);
  return { kernel, release, kernelPath: join(directory, 'kernel'), initrdPath: join(directory, 'initrd'), packages };
}
