/**
 * Which programs a test may start. Vitest loads this before each test file.
 *
 * A test may start Node, npm, a shell, env, and what lies in this repository or in a temporary directory. Every other
 * program is available only while a thing that brings it is lent, which `need.ts` does. Otherwise the program appears
 * to be missing, as on a machine that has only Node: a test that starts tshark without asking for it fails on every
 * machine. Processes and workers of a test find, first in their PATH, a program of the same name that fails. A process
 * that names the path of a program itself is not watched; the bare lanes of CI have none of these programs.
 */
import childProcess from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

/** The things that a test can ask for, and the programs that come with each. */
export const PROGRAMS = {
  tshark: ['tshark', 'capinfos', 'editcap', 'mergecap'],
  'tshark-lua': ['tshark'],
  sharkd: ['sharkd'],
  python3: ['python3'],
  scapy: ['python3'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
  clone: ['git'],
  // Not hidden: programs of others may be scripts for it, such as the shims of a version manager.
  bash: [],
  mkfifo: ['mkfifo'],
  compiler: ['cc', 'gcc'],
  verbs: ['ibv_devices', 'ibv_devinfo', 'ibv_rc_pingpong', 'ib_send_lat', 'rping'],
  middleware: ['qperf', 'fio', 'ucx_perftest', 'fi_info', 'fi_pingpong', 'mpirun', 'python3'],
  slurm: ['munged', 'munge', 'slurmctld', 'slurmd', 'sbatch', 'scancel', 'scontrol', 'sinfo', 'squeue'],
  netns: ['ip', 'setpriv'],
  namespaces: ['unshare', 'setpriv', 'timeout'],
  tmpfs: ['mount', 'umount'],
  'bind-mounts': ['mount', 'unshare'],
  lab: ['qemu-system-x86_64', 'apt-get', 'apt-cache', 'dpkg-deb'],
  // apt is what it works with, mount and chroot what enters the root that it makes.
  mmdebstrap: [
    'mmdebstrap',
    'apt-get',
    'apt-cache',
    'dpkg-deb',
    'dpkg-query',
    'mount',
    'umount',
    'unshare',
    'chroot',
    'setpriv',
  ],
  koffi: [],
  'raw-socket': [],
  cap: [],
  duckdb: [],
  pyverbs: ['python3', 'dpkg-query', 'ip'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Thing = keyof typeof PROGRAMS;

const FREE = ['bash', 'env', 'node', 'npm', 'npx', 'sh'];
/** Those of the free ones that start other programs, which their arguments name. */
const STARTERS = ['env', 'npm', 'npx', 'sh'];
const HINT = 'a test asks test/support/need.ts for it first';
const OWN_PLACES = [fileURLToPath(new URL('../..', import.meta.url)), tmpdir()];

const lent = new Map<Thing, number>();

/** Makes the programs of `things` available until the returned function is called. */
export function lend(things: readonly Thing[]): () => void {
  const change = (by: number): void => {
    for (const thing of things) lent.set(thing, (lent.get(thing) ?? 0) + by);
    for (const name of things.flatMap(programsOf)) hideOrShow(name);
  };
  change(1);
  return () => change(-1);
}

/** The program to start: `file` itself, or a name that no program has. `args` matter where `file` starts others. */
export function permitted(file: string, args: readonly unknown[] = []): string {
  const wanted = basename(file);
  const missing = mayStart(file)
    ? STARTERS.includes(wanted)
      ? namedPrograms(args).find((name) => !mayStart(name))
      : undefined
    : wanted;
  return missing === undefined ? file : `${missing}: ${HINT}`;
}

function mayStart(file: string): boolean {
  const name = basename(file);
  if (FREE.includes(name) || file === process.execPath || isLent(name)) return true;
  if (HIDDEN !== undefined && file.startsWith(HIDDEN)) return false;
  return isAbsolute(file) && OWN_PLACES.some((place) => file.startsWith(place));
}

function isLent(program: string): boolean {
  return THINGS.some((thing) => (lent.get(thing) ?? 0) > 0 && programsOf(thing).includes(program));
}

/** Of the words of arguments, such as a shell's script, those that name a program of a thing. */
function namedPrograms(args: readonly unknown[]): string[] {
  const words = args.filter((arg) => typeof arg === 'string').flatMap((arg) => arg.split(/[\s|&;()<>'"`$]+/));
  return words.filter((word) => THINGS.some((thing) => programsOf(thing).includes(basename(word))));
}

function programsOf(thing: Thing): readonly string[] {
  return PROGRAMS[thing];
}

function isThing(name: string): name is Thing {
  return name in PROGRAMS;
}

const THINGS = Object.keys(PROGRAMS).filter(isThing);
const { PATH = '' } = process.env;
/** What this machine has of all programs: what it lacks needs no hiding. */
const HIDEABLE = new Set(
  THINGS.flatMap(programsOf).filter((name) => PATH.split(delimiter).some((folder) => existsSync(join(folder, name)))),
);
/** While a test file runs, has a failing program for each that is not lent. Undefined where there is none to hide. */
const HIDDEN = HIDEABLE.size === 0 ? undefined : mkdtempSync(join(tmpdir(), 'roce-hidden-'));

function hideOrShow(program: string): void {
  if (HIDDEN === undefined || !HIDEABLE.has(program)) return;
  const file = join(HIDDEN, program);
  if (isLent(program)) rmSync(file, { force: true });
  else writeFileSync(file, `#!/bin/sh\necho '${program}: ${HINT}' >&2\nexit 127\n`, { mode: 0o755 });
}

/** Puts the failing programs before all others, for processes and workers of the test. */
function hide(): void {
  if (HIDDEN === undefined) return;
  for (const program of HIDEABLE) hideOrShow(program);
  process.env['PATH'] = `${HIDDEN}${delimiter}${PATH}`;
  afterAll(() => {
    process.env['PATH'] = PATH;
    rmSync(HIDDEN, { recursive: true, force: true });
  });
}

const WATCHED = Symbol.for('rocev2: the programs that tests start are watched');

/** Puts `permitted` before every way in which node:child_process starts a program. */
function watch(): void {
  const { ChildProcess } = childProcess;
  // Under spawn, execFile, exec and fork. `args` has the program's own name first.
  const start: unknown = Reflect.get(ChildProcess.prototype, 'spawn');
  if (typeof start !== 'function') throw new Error('node:child_process has changed: ChildProcess has no spawn');
  Reflect.set(ChildProcess.prototype, 'spawn', function (this: unknown, options: { file: string; args?: string[] }) {
    return Reflect.apply(start, this, [{ ...options, file: permitted(options.file, options.args) }]);
  });
  for (const name of ['spawnSync', 'execFileSync', 'execSync'] as const) {
    const original: (...words: never[]) => unknown = childProcess[name];
    Reflect.set(childProcess, name, (file: string, ...rest: unknown[]) => {
      const args = Array.isArray(rest[0]) ? rest[0] : [];
      const byShell = name === 'execSync' || rest.some((one) => usesShell(one));
      const program = byShell ? 'sh' : file;
      const found = byShell ? permitted('sh', [file, ...args]) : permitted(file, args);
      return Reflect.apply(original, childProcess, [found === program ? file : found, ...rest]);
    });
  }
  Reflect.set(childProcess, WATCHED, true);
  syncBuiltinESMExports();
}

function usesShell(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'shell' in options && Boolean(options.shell);
}

hide();
// Test files that share a process load this again, each after the one before has ended.
if (!Reflect.has(childProcess, WATCHED)) watch();
