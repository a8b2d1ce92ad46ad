/**
 * The shim as a library: compiled with the machine's C compiler on first use, then taken from the cache without one.
 * Its name there is a hash of the sources, the flags and the C library. Builds side by side do not disturb each other.
 */
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import { buildPart, hash } from '../lab/parts.ts';
import { runTool } from '../lab/tool.ts';
import { findCompiler } from './machine.ts';

/** Where the shim's sources lie. */
export const SHIM_DIRECTORY = fileURLToPath(new URL('./shim/', import.meta.url));

/**
 * The path of the shim, for LD_PRELOAD. Rejects with `RoceError` `ERR_ROCE_LINK_UNAVAILABLE` when it is not in the
 * cache and there is no compiler, the compiler refuses, or the cache cannot be written.
 */
export async function buildShim(
  cache: string = shimCache(),
  sourceDirectory: string = SHIM_DIRECTORY,
): Promise<string> {
  refuseSeparators(cache);
  const sources = await readSources(sourceDirectory);
  const prefix = `shim-${hash([sources, FLAGS, cLibrary(), process.arch])}`;
  try {
    const directory = await buildPart(join(cache, 'parts'), prefix, {}, async (scratch) => {
      const compiler = findCompiler();
      if (compiler === undefined) throw unavailable(NO_COMPILER);
      const files = Object.keys(sources).filter((name) => name.endsWith('.c'));
      const paths = files.map((name) => join(sourceDirectory, name));
      await runTool(compiler, [...FLAGS, ...paths, ...LIBRARIES, '-o', join(scratch, 'out', NAME)]);
      return { release: process.arch, packages: [] };
    });
    return join(directory, NAME);
  } catch (cause) {
    if (!(cause instanceof Error) || cause instanceof RoceError) throw cause;
    throw unavailable(
      `the shim cannot be built in ${cache} (XDG_CACHE_HOME names another place): ${cause.message}`,
      cause,
    );
  }
}

/** Text of each source and header, by name. */
async function readSources(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => /\.[ch]$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  return Object.fromEntries(names.map((name, at) => [name, texts[at] ?? '']));
}

/** What the shim is linked to: a cache may be shared by machines, and an older C library lacks what a newer one has. */
function cLibrary(): string {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime ?? 'not glibc';
}

function shimCache(): string {
  const { XDG_CACHE_HOME: base = '' } = process.env;
  return join(base === '' ? join(homedir(), '.cache') : base, 'rocev2', 'uverbs');
}

/** LD_PRELOAD is a list, and these separate it. */
function refuseSeparators(cache: string): void {
  if (/[\s:]/.test(cache))
    throw unavailable(
      `LD_PRELOAD takes no path with a space or a colon: set XDG_CACHE_HOME to another place than ${cache}`,
    );
}

function unavailable(sentence: string, cause?: unknown): RoceError {
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', sentence, cause === undefined ? {} : { cause });
}

const NAME = 'rocev2-uverbs.so';
/** No -Werror: what a newer compiler warns of must not keep anybody from a working shim; the tests have it. */
const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-fPIC', '-shared', '-fvisibility=hidden', '-pthread'] as const;
const LIBRARIES = ['-ldl'] as const;
const NO_COMPILER = 'programs run under a shim that is built with a C compiler: install gcc and libc6-dev (no cc here)';
