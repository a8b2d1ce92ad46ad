/**
 * The programs of a guest: picked out of Debian packages with exactly the libraries they load. Pure; bytes in, entries
 * out. Paths are merged into /usr, as Debian has it: /bin, /sbin, /lib and /lib64 are links.
 */
import { posix } from 'node:path';
import { RoceError } from 'rocev2/packets';
import type { CpioEntry } from './cpio.ts';
import { isElf, neededLibraries } from './elf.ts';
import { AGENT_SCRIPT, INIT_SCRIPT } from './init.ts';
import { CHOSEN_LIBRARIES, isRuntimeFileOf, programsOf, type Userland } from './recipe.ts';
import type { TarEntry } from './tar.ts';

/** Whether a package's file can matter: programs, libraries, runtime files. */
export function isUserlandPath(userland: Userland, path: string): boolean {
  const merged = mergedPath(path);
  if ([...CHOSEN_LIBRARIES.values()].includes(merged)) return true;
  return /^usr\/s?bin\/[^/]+$/.test(merged) || libraryName(merged) !== undefined || isRuntimeFileOf(userland, merged);
}

/**
 * The entries of a userland: its programs, the runtime files, and the libraries they need, followed through the
 * libraries' own needs. `packages` maps a package's name to its entries. Throws `RoceError` when a program or library
 * is missing.
 */
export function userlandEntries(userland: Userland, packages: ReadonlyMap<string, readonly TarEntry[]>): CpioEntry[] {
  const files = new Map<string, TarEntry>();
  for (const entries of packages.values()) {
    for (const entry of entries) if (entry.kind !== 'directory') files.set(mergedPath(entry.path), entry);
  }
  for (const [path, target] of CHOSEN_LIBRARIES) {
    if (files.has(target))
      files.set(path, { path, kind: 'symlink', mode: 0o777, link: `/${target}`, data: Buffer.alloc(0) });
  }
  const chosen = new Map<string, TarEntry>();
  for (const path of programPaths(userland, packages)) choose(path, files, chosen);
  for (const path of files.keys()) {
    if (isRuntimeFileOf(userland, path)) choose(path, files, chosen);
  }
  // A Map's iteration reaches what is added while it runs: the needs of the needs.
  for (const entry of chosen.values()) {
    for (const library of neededLibraries(entry.data)) choose(libraryPath(library, files), files, chosen);
  }
  return [...skeleton(), ...[...chosen].map(([path, entry]) => cpioEntry(path, entry))];
}

function programPaths(userland: Userland, packages: ReadonlyMap<string, readonly TarEntry[]>): string[] {
  return Object.entries(programsOf(userland)).flatMap(([name, programs]) => {
    const entries = (packages.get(name) ?? []).filter((entry) => /^usr\/s?bin\//.test(mergedPath(entry.path)));
    if (programs === 'all') return entries.filter((entry) => isElf(entry.data)).map((entry) => mergedPath(entry.path));
    return programs.map((program) => {
      const entry = entries.find((candidate) => posix.basename(candidate.path) === program && isElf(candidate.data));
      if (entry === undefined) throw missing(`program ${program} in package ${name}`);
      return mergedPath(entry.path);
    });
  });
}

/** Adds a file and, where it is a symbolic link, the file it stands for. */
function choose(path: string, files: ReadonlyMap<string, TarEntry>, chosen: Map<string, TarEntry>): void {
  let at = path;
  for (let hops = 0; hops < LINK_HOPS_MAX; hops++) {
    if (chosen.has(at)) return;
    const entry = files.get(at);
    if (entry === undefined) throw missing(`file ${at}`);
    chosen.set(at, entry);
    if (entry.kind !== 'symlink') return;
    at = mergedPath(posix.join('/', posix.dirname(at), entry.link).slice(1));
    if (entry.link.startsWith('/')) at = mergedPath(entry.link.slice(1));
  }
  throw missing(`end of the symbolic links from ${path}`);
}

function libraryPath(name: string, files: ReadonlyMap<string, TarEntry>): string {
  for (const path of files.keys()) {
    if (libraryName(path) === name) return path;
  }
  throw missing(`library ${name}`);
}

/** The base name of a path in one of the loader's directories, or of those of Ceph, UCX and PMIx. */
function libraryName(merged: string): string | undefined {
  return /^usr\/(?:lib64|lib\/x86_64-linux-gnu(?:\/ceph|\/ucx|\/pmix2\/lib)?)\/([^/]+\.so[^/]*)$/.exec(merged)?.[1];
}

function mergedPath(path: string): string {
  return /^(?:bin|sbin|lib|lib64)\//.test(path) ? `usr/${path}` : path;
}

function cpioEntry(path: string, entry: TarEntry): CpioEntry {
  if (entry.kind === 'symlink') return { path, kind: 'symlink', link: entry.link };
  return { path, kind: 'file', mode: entry.mode, data: entry.data };
}

/** What a root file system has besides programs. The console device must exist before /dev is mounted. */
function skeleton(): CpioEntry[] {
  const text = (path: string, mode: number, content: string): CpioEntry => {
    return { path, kind: 'file', mode, data: Buffer.from(content, 'utf8') };
  };
  const directories = ['proc', 'sys', 'dev', 'tmp', 'root', 'busybox', 'run/lab', 'usr/bin', 'usr/sbin', 'usr/lib64'];
  return [
    ...directories.map((path): CpioEntry => ({ path, kind: 'directory' })),
    ...['bin', 'sbin', 'lib', 'lib64'].map((path): CpioEntry => ({ path, kind: 'symlink', link: `usr/${path}` })),
    { path: 'dev/console', kind: 'device', major: 5, minor: 1 },
    text('init', 0o755, INIT_SCRIPT),
    text('etc/lab/agent', 0o755, AGENT_SCRIPT),
    text('etc/passwd', 0o644, 'root:x:0:0:root:/root:/bin/sh\n'),
    text('etc/group', 0o644, 'root:x:0:\n'),
    text('etc/hosts', 0o644, '127.0.0.1 localhost\n::1 localhost\n'),
    { path: 'usr/bin/sh', kind: 'symlink', link: 'dash' },
  ];
}

function missing(what: string): RoceError {
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the Debian packages of the guest hold no ${what}`);
}

const LINK_HOPS_MAX = 8;
