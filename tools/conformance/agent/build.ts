/**
 * The agent as one program for guests of the lab: compiled with the host's C compiler, linked with nothing left to find
 * at run time. Headers and libraries are those of Debian packages, unpacked into the lab's cache, never those of this
 * machine: nothing has to be installed but a compiler, and a guest has its own, older libraries without being asked.
 * Beside a real device the Makefile is used.
 *
 *   CACHE/parts/agent-sysroot-RECIPE-VERSIONS/...    CACHE/parts/agent-RECIPE-VERSIONS/rocev2-agent
 */
import { copyFile, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import { resolvePackages } from '../../lab/packages.ts';
import { type BuildOptions, type BuiltPart, buildPart, defaultCacheDirectory, hash } from '../../lab/parts.ts';
import { AptRoot, type Suite } from '../../lab/sources.ts';
import { findTool, runTool } from '../../lab/tool.ts';

/** Where the agent's sources lie. */
export const AGENT_DIRECTORY = fileURLToPath(new URL('.', import.meta.url));

/**
 * The path of the agent's program, from the cache or built: an amd64 program without dependencies, for devices of
 * rdma_rxe. Rejects with `RoceError` `ERR_ROCE_LINK_UNAVAILABLE` when there is no compiler, no mirror, or the sources
 * are not here.
 */
export async function buildAgent(options: BuildOptions = {}): Promise<string> {
  const compiler = findCompiler();
  if (compiler === undefined) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', NO_COMPILER);
  const sources = await readSources();
  const parts = join(options.cacheDirectory ?? defaultCacheDirectory(), 'parts');
  const recipe = hash([SUITE, SYSROOT_PACKAGES]);
  const sysroot = await buildPart(parts, `agent-sysroot-${recipe}`, options, (scratch) => unpack(scratch, options));
  const version = (await runTool(compiler, ['--version'])).toString('utf8').split('\n')[0];
  const prefix = `agent-${hash([sources, COMPILER_FLAGS, LIBRARIES, version, basename(sysroot)])}`;
  const directory = await buildPart(parts, prefix, { ...options, refresh: false }, async (scratch) => {
    options.log?.('agent: compiling');
    await compile(compiler, sysroot, scratch, Object.keys(sources), options.signal);
    return { release: SUITE, packages: [] };
  });
  return join(directory, PROGRAM);
}

/** The host's C compiler, or undefined. */
export function findCompiler(): string | undefined {
  return findTool('cc') ?? findTool('gcc');
}

/** Text of each source and header, by name. */
async function readSources(): Promise<Record<string, string>> {
  const names = (await readdir(AGENT_DIRECTORY)).filter((name) => /\.[ch]$/.test(name)).sort();
  if (!names.includes('main.c')) {
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the agent's C sources are not in ${AGENT_DIRECTORY}`);
  }
  const texts = await Promise.all(names.map((name) => readFile(join(AGENT_DIRECTORY, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
}

async function unpack(scratch: string, options: BuildOptions): Promise<BuiltPart> {
  options.log?.(`agent: packages of ${SUITE}`);
  const apt = await AptRoot.create(join(scratch, 'apt'), SUITE, options.signal);
  // What these depend on beyond one another serves programs that are linked with them otherwise.
  const packages = await resolvePackages(
    SYSROOT_PACKAGES,
    (names) => apt.show(names),
    () => false,
  );
  const out = join(scratch, 'out');
  for (const file of await apt.download(packages, join(scratch, 'debs'))) {
    await runTool('dpkg-deb', ['--extract', file, out], { signal: options.signal });
  }
  await rm(join(out, 'usr', 'share'), { recursive: true, force: true });
  return { release: SUITE, packages };
}

async function compile(
  compiler: string,
  sysroot: string,
  scratch: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const libraries = join(sysroot, 'usr', 'lib', 'x86_64-linux-gnu');
  const sources = names.filter((name) => name.endsWith('.c')).map((name) => join(AGENT_DIRECTORY, name));
  const program = join(scratch, PROGRAM);
  // A compiler looks beside itself before it looks into its sysroot; -B and -L come before both.
  const where = [`--sysroot=${sysroot}`, `-B${libraries}`, `-L${libraries}`];
  await runTool(compiler, [...where, ...COMPILER_FLAGS, ...sources, ...LIBRARIES, '-o', program], { signal });
  await copyFile(program, join(scratch, 'out', PROGRAM));
}

/**
 * Newer than the guests' userland, whose libraries know no FLUSH (rdma-core 44). The kernel's interface has
 * been the same for both.
 */
const SUITE: Suite = 'trixie';
const SYSROOT_PACKAGES = [
  'libc6',
  'libc6-dev',
  'linux-libc-dev',
  'libibverbs-dev',
  'librdmacm-dev',
  'libnl-3-dev',
  'libnl-route-3-dev',
] as const;
const COMPILER_FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-s'],
  ...['-DHAVE_FLUSH', '-DHAVE_ATOMIC_WRITE', '-DRDMA_STATIC_PROVIDERS=rxe'],
] as const;
const LIBRARIES = [
  ...[
    '-Wl,--no-warnings',
    '-Wl,--start-group',
    '-lrdmacm',
    '-libverbs',
    '-l:librxe-rdmav34.a',
    '-lnl-route-3',
    '-lnl-3',
  ],
  '-Wl,--end-group',
] as const;
const PROGRAM = 'rocev2-agent';
const NO_COMPILER = 'the agent is built with a C compiler, and there is no cc here (Debian packages gcc and libc6-dev)';
