/**
 * Which programs a test may start. Vitest loads this before each test file.
 *
 * A test may start Node, npm, a shell, env, and what lies in this repository or in a temporary directory. Every other
 * program is available only while a thing that brings it is lent, which `need.ts` does. Otherwise the program appears
 * to be missing, as on a machine that has only Node: a test that starts tshark without asking for it fails on every
 * machine. What the processes of a test start is not watched; the bare lanes of CI have none of these programs.
 */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The things that a test can ask for, and the programs that come with each. */
export const PROGRAMS = {
  tshark: ['tshark', 'capinfos', 'editcap', 'mergecap'],
  'tshark-lua': ['tshark'],
  sharkd: ['sharkd'],
  scapy: ['python3'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
  compiler: ['cc', 'gcc'],
  netns: ['ip', 'setpriv'],
  lab: ['qemu-system-x86_64', 'apt-get', 'apt-cache', 'dpkg-deb'],
  koffi: [],
  'raw-socket': [],
  cap: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Thing = keyof typeof PROGRAMS;

const FREE = ['env', 'node', 'npm', 'npx', 'sh'];
const HINT = 'a test asks test/support/need.ts for it first';
const OWN_PLACES = [fileURLToPath(new URL('../..', import.meta.url)), tmpdir()];

const lent = new Map<Thing, number>();

/** Makes the programs of `things` available until the returned function is called. */
export function lend(things: readonly Thing[]): () => void {
  for (const thing of things) lent.set(thing, (lent.get(thing) ?? 0) + 1);
  return () => {
    for (const thing of things) lent.set(thing, (lent.get(thing) ?? 0) - 1);
  };
}

/** The program to start: `file` itself, or a name that no program has. `args` matter where `file` is a shell. */
export function permitted(file: string, args: readonly unknown[] = []): string {
  const wanted = basename(file);
  const missing = mayStart(file)
    ? wanted === 'sh'
      ? shellPrograms(args).find((name) => !mayStart(name))
      : undefined
    : wanted;
  return missing === undefined ? file : `${missing}: ${HINT}`;
}

function mayStart(file: string): boolean {
  const name = basename(file);
  if (FREE.includes(name) || file === process.execPath) return true;
  if (isAbsolute(file) && OWN_PLACES.some((place) => file.startsWith(place))) return true;
  return THINGS.some((thing) => (lent.get(thing) ?? 0) > 0 && programsOf(thing).includes(name));
}

/** Of the words of a shell's script those that name a program of a thing. */
function shellPrograms(args: readonly unknown[]): string[] {
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
      const args = name === 'execSync' ? [file] : Array.isArray(rest[0]) ? rest[0] : [];
      const program = name === 'execSync' ? 'sh' : file;
      const found = permitted(program, args);
      return Reflect.apply(original, childProcess, [found === program ? file : found, ...rest]);
    });
  }
  syncBuiltinESMExports();
}

watch();
