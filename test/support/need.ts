/**
 * Asks for what a machine may lack: programs, root, network namespaces, guests of the lab, optional packages. It is
 * the only way in which a test gets one of these: `programs.ts` hides the programs from every test that has not asked.
 *
 * Where a thing is missing the tests are skipped, and `reporters.ts` prints each reason once at the end of the run.
 * With `CI` set they fail instead, so that a skip never passes for a success. `ROCE_BARE=1` beside `CI` says that this
 * lane lacks things on purpose.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { pyverbsMissing } from '../../tools/interop/pyverbs/suite.ts';
import { labAvailable } from '../../tools/lab/probe.ts';
import { findTool } from '../../tools/lab/tool.ts';
import { netnsAvailable } from '../../tools/netns.ts';
import { mustBeThere } from '../../tools/required.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { scapyAvailable } from '../interop/scapy.ts';
import { lend, PROGRAMS, type Thing } from './programs.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Why the tests in here are skipped. */
    missing?: string;
  }
}

/** `describe` for tests that need things. */
export function describeWith(needs: Thing | readonly Thing[], name: string, body: () => void): void {
  const things = withWhatTheyNeed(needs);
  describeUnless(firstMissing(things), name, () => {
    borrow(things);
    body();
  });
}

/** `it` for a test that needs things. */
export function itWith(needs: Thing | readonly Thing[], name: string, test: () => void | Promise<void>): void {
  describeWith(needs, `with ${[needs].flat().join(' and ')}`, () => it(name, test));
}

/** `describe` for tests that cannot run when there is a reason, a sentence. For what only the test can find out. */
export function describeUnless(reason: string | undefined, name: string, body: () => void): void {
  if (reason === undefined) describe(name, body);
  else if (mustBeThere(process.env)) {
    it(`${name}: what this needs is there, for CI is set`, () => {
      throw new Error(reason);
    });
  } else describe(name, { skip: true, meta: { missing: reason } }, body);
}

/**
 * For tests that look at more where a thing is there, and have a right answer where it is not. Called in a `describe`
 * or at the top of a file, it makes the thing available there. With `CI` set the thing must be there.
 */
export function useWhereThere(thing: Thing): void {
  const reason = whyMissing(thing);
  if (reason === undefined) borrow(withWhatTheyNeed(thing));
  else if (mustBeThere(process.env)) describeUnless(reason, thing, () => undefined);
}

/** The browser's path. */
export function chromiumPath(): string | undefined {
  return PROGRAMS.chromium.map(findTool).find((path) => path !== undefined);
}

function borrow(things: readonly Thing[]): void {
  let giveBack = (): void => undefined;
  beforeAll(() => {
    giveBack = lend(things);
  });
  afterAll(() => giveBack());
}

function withWhatTheyNeed(needs: Thing | readonly Thing[]): Thing[] {
  return [...new Set([needs].flat().flatMap((thing) => [...(BEHIND[thing] ?? []), thing]))];
}

/** Why a thing is missing, as a sentence; undefined where it is there. */
export function whyMissing(thing: Thing): string | undefined {
  return firstMissing(withWhatTheyNeed(thing));
}

function firstMissing(things: readonly Thing[]): string | undefined {
  for (const thing of things) {
    if (!known.has(thing)) {
      const giveBack = lend([thing]);
      known.set(thing, LOOK[thing]());
      giveBack();
    }
    const reason = known.get(thing);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function tsharkMissing(): string | undefined {
  if (findTool('tshark') === undefined) return 'tshark is not installed';
  const { available, reason } = tsharkAvailable();
  return available ? undefined : reason;
}

function luaMissing(): string | undefined {
  const about = spawnSync('tshark', ['-v'], { encoding: 'utf8' }).stdout;
  return /\bwith\s+Lua\b/i.test(about) ? undefined : 'this tshark was built without Lua';
}

/** Programs of others for libibverbs and librdmacm, and libibverbs' provider for rxe. */
function verbsMissing(): string | undefined {
  const lacking = PROGRAMS.verbs.find((name) => findTool(name) === undefined);
  const packages = 'ibverbs-utils, ibverbs-providers, rdmacm-utils and perftest';
  if (lacking !== undefined) return `${lacking} is not installed (Debian packages ${packages})`;
  return existsSync('/etc/libibverbs.d/rxe.driver') ? undefined : `libibverbs has no provider for rxe (${packages})`;
}

/** What is built upon verbs: programs, libraries over it, MPI for Python. */
function middlewareMissing(): string | undefined {
  const lacking = PROGRAMS.middleware.find((name) => findTool(name) === undefined);
  const packages = 'qperf, fio, ucx-utils, libfabric-bin, openmpi-bin and python3-mpi4py';
  if (lacking !== undefined) return `${lacking} is not installed (Debian packages ${packages})`;
  const mpi = spawnSync('/usr/bin/python3', ['-c', 'import mpi4py']).status === 0;
  return mpi ? undefined : `Debian's Python has no mpi4py (Debian packages ${packages})`;
}

/** A batch system, and what its daemons know each other by. */
function slurmMissing(): string | undefined {
  const lacking = PROGRAMS.slurm.find((name) => findTool(name) === undefined);
  return lacking === undefined ? undefined : `${lacking} is not installed (Debian packages slurm-wlm and munge)`;
}

/** Whether a small file system in memory can be mounted, for disks that fill up. */
function tmpfsMissing(): string | undefined {
  if (findTool('mount') === undefined) return 'mount is not installed';
  const directory = mkdtempSync(join(tmpdir(), 'roce-mount-'));
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory], {
    encoding: 'utf8',
  });
  if (status === 0) spawnSync('umount', [directory]);
  rmSync(directory, { recursive: true, force: true });
  return status === 0 ? undefined : `no tmpfs can be mounted: ${stderr.trim()}`;
}

/** Whether these files are a clone, with git to ask for its revisions. */
function cloneMissing(): string | undefined {
  if (findTool('git') === undefined) return 'git is not installed';
  const { status } = spawnSync('git', ['rev-parse', '--verify', 'HEAD'], { cwd: ROOT });
  return status === 0 ? undefined : 'these files are no clone of the repository';
}

function packageMissing(name: string): string | undefined {
  try {
    createRequire(import.meta.url).resolve(name);
    return undefined;
  } catch {
    return `the optional package ${name} is not installed`;
  }
}

/** The package is always installed, its binary where there is one for the platform. */
function duckdbMissing(): string | undefined {
  try {
    createRequire(createRequire(import.meta.url).resolve('@duckdb/node-api'))('@duckdb/node-bindings');
    return undefined;
  } catch {
    return `the package @duckdb/node-api has no binary for ${process.platform}-${process.arch} installed`;
  }
}

const reasonOf = (found: { readonly ok: boolean; readonly reason?: string }): string | undefined =>
  found.ok ? undefined : (found.reason ?? '');

/** Why a thing is missing, as a sentence; undefined where it is there. */
const LOOK: Readonly<Record<Thing, () => string | undefined>> = {
  tshark: tsharkMissing,
  'tshark-lua': luaMissing,
  sharkd: () =>
    spawnSync('sharkd', ['--version']).error === undefined
      ? undefined
      : 'sharkd, Wireshark without a window, is not installed',
  python3: () => (findTool('python3') === undefined ? 'python3 is not installed' : undefined),
  scapy: () => (findTool('python3') === undefined ? 'python3 is not installed' : reasonOf(scapyAvailable())),
  chromium: () => (chromiumPath() === undefined ? `none of ${PROGRAMS.chromium.join(', ')} is in PATH` : undefined),
  clone: cloneMissing,
  bash: () => (findTool('bash') === undefined ? 'bash is not installed' : undefined),
  mkfifo: () => (findTool('mkfifo') === undefined ? 'mkfifo is not installed' : undefined),
  compiler: () =>
    PROGRAMS.compiler.some((name) => findTool(name) !== undefined)
      ? undefined
      : 'there is no C compiler (Debian package gcc)',
  verbs: verbsMissing,
  middleware: middlewareMissing,
  slurm: slurmMissing,
  netns: () =>
    findTool('ip') === undefined ? 'ip is not installed (Debian package iproute2)' : reasonOf(netnsAvailable()),
  namespaces: () =>
    spawnSync('unshare', ['-Urpf', '--mount-proc', 'true']).status === 0
      ? undefined
      : 'no user and pid namespaces can be made here',
  tmpfs: tmpfsMissing,
  'bind-mounts': () =>
    spawnSync('unshare', ['-m', 'mount', '--bind', '/etc/hosts', '/etc/hosts']).status === 0
      ? undefined
      : 'no file can be mounted over another here',
  lab: () => reasonOf(labAvailable()),
  mmdebstrap: () => (findTool('mmdebstrap') === undefined ? 'mmdebstrap is not installed' : undefined),
  koffi: () => packageMissing('koffi'),
  'raw-socket': () => packageMissing('raw-socket'),
  cap: () => packageMissing('cap'),
  duckdb: duckdbMissing,
  pyverbs: pyverbsMissing,
};

/** What must be there first; koffi is how a test enters a namespace. */
const BEHIND: Readonly<Partial<Record<Thing, readonly Thing[]>>> = {
  'tshark-lua': ['tshark'],
  sharkd: ['tshark', 'tshark-lua'],
  netns: ['koffi'],
  mmdebstrap: ['koffi', 'netns'],
  pyverbs: ['compiler', 'koffi', 'verbs'],
  verbs: ['compiler', 'koffi'],
  middleware: ['compiler', 'koffi', 'verbs'],
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const known = new Map<Thing, string | undefined>();
