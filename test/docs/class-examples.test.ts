/**
 * Goal: the example of a class runs, and prints what its comments say. Method: the fenced code of the doc comments is
 * cut out, checked by the compiler as a user's program would be, and run; a line of output is a comment in it.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProgram } from '../support/running.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The sources of every entry, by its name: those from which the files in `exports` are built. */
const ENTRIES: ReadonlyMap<string, string> = new Map(
  Object.entries<{ readonly default?: string }>(
    JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).exports,
  ).flatMap(([name, { default: built = '' }]) =>
    built.startsWith('./dist/')
      ? [[`rocev2${name.slice(1)}`, join(ROOT, built.replace('./dist/', '').replace(/\.js$/, '.ts'))]]
      : [],
  ),
);
/** Of packages without types. */
const DECLARATIONS = ['packets/buffer-layout.d.ts', 'src/node/links/native-packages.d.ts'].map((name) =>
  join(ROOT, name),
);
const ROOMS = ['packets', 'transport', 'pcap', 'src'];
/** Classes whose work cannot be shown in one process, by any user, with nothing but Node: why. */
const WITHOUT: Readonly<Record<string, string>> = {
  Bump: 'stands between two real wires',
  QueuePair: 'what queue pairs of every service share: nobody makes one',
  ShmLink: 'loads koffi, which need not be installed',
  TapLink: 'makes an interface of the kernel: a matter of privileges',
  UnreliableQueuePair: 'what UC and UD share: nobody makes one',
};

interface Example {
  readonly file: string;
  readonly code: string;
}

/** Names of the classes that an entry exports; `class` begins the source of nothing else. */
async function classesOf(source: string): Promise<string[]> {
  const library: Readonly<Record<string, unknown>> = await import(source);
  return Object.entries(library)
    .filter(([, value]) => typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value)))
    .map(([name]) => name)
    .sort();
}

/** Where the sources of an entry are; what is no entry stays, and is not found. */
function sourceOf(entry: string): string {
  const file = ENTRIES.get(entry);
  return file === undefined ? entry : pathToFileURL(file).href;
}

/** The examples in the comments of exported classes, by name of the class. */
function examples(): Map<string, Example> {
  const found = new Map<string, Example>();
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(room, name)),
  );
  const CLASS = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:abstract )?class (\w+)/g;
  for (const file of files)
    for (const [, comment = '', name = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(CLASS)) {
      const text = comment.replaceAll(/^ \* ?/gm, '');
      const code = /@example\s+```ts\n([\s\S]*?)```/.exec(text)?.[1];
      if (code !== undefined) found.set(name, { file, code });
    }
  return found;
}

/** What an example says that it prints: the comments behind `console.log`, and whole lines after one. */
function promised(code: string): string[] {
  let printing = false;
  return code.split('\n').flatMap((line) => {
    const behind = /console\.log\(.*\).*; \/\/ (.*)$/.exec(line)?.[1];
    if (behind !== undefined) return [behind];
    if (line.includes('console.log(')) printing = true;
    const own = /^\/\/ (.*)$/.exec(line)?.[1];
    return printing && own !== undefined ? [own] : [];
  });
}

const EXAMPLES = examples();
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'roce-examples-'));
  mkdirSync(join(folder, 'run'));
  for (const [name, { code }] of EXAMPLES) {
    writeFileSync(join(folder, `${name}.mts`), code);
    // What is run is not below the project, whose names it could use.
    writeFileSync(join(folder, 'run', `${name}.mts`), code.replaceAll(/(?<= from ')rocev2[^']*(?=')/g, sourceOf));
  }
  const compilerOptions = {
    paths: Object.fromEntries([...ENTRIES].map(([name, file]) => [name, [file]])),
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const project = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions,
    include: ['*.mts', ...DECLARATIONS],
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the examples of classes', () => {
  it('are there for every class of every entry, and import it from an entry that has it', async () => {
    const homes = new Map<string, string[]>();
    for (const [entry, source] of ENTRIES)
      for (const name of await classesOf(source)) homes.set(name, [...(homes.get(name) ?? []), entry]);
    expect(homes.size).toBeGreaterThan(60);
    const imported = (name: string, entry: string): boolean =>
      EXAMPLES.get(name)?.code.includes(` } from '${entry}';`) === true;
    const missing = [...homes].filter(([name, entries]) => !entries.some((entry) => imported(name, entry)));
    // Exact: a class that has an example needs no reason, and one that is gone has none.
    expect(missing.map(([name]) => name).sort()).toEqual(Object.keys(WITHOUT));
  });

  it('are programs without a mistake', async () => {
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { code, stdout } = await startProgram(compiler, ['--noEmit', '--project', folder]).ended;
    expect(stdout).toBe('');
    expect(code).toBe(0);
  });

  it('print what their comments say', async () => {
    // One process for all: each example has its own world.
    const run = [...EXAMPLES.keys()]
      .map((name) => `console.log('== ${name}');\nawait import('./${name}.mts');`)
      .join('\n');
    const all = join(folder, 'run/all.mts');
    writeFileSync(all, run);
    const { code, stdout, stderr } = await startProgram(all, []).ended;
    expect([code, stderr]).toEqual([0, '']);
    const wanted = [...EXAMPLES].flatMap(([name, example]) => [`== ${name}`, ...promised(example.code)]);
    expect(stdout.trimEnd().split('\n')).toEqual(wanted);
    for (const [name, example] of EXAMPLES) expect([name, promised(example.code).length > 0]).toEqual([name, true]);
  });
});
