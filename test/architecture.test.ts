/**
 * Goal: the rooms keep their walls. Method: read every source file and look at what it imports and uses.
 * The direction of imports is that of ARCHITECTURE.md; a new dependency or a longer file is a decision, made here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MAX_LINES = 400;
const MAX_COLUMNS = 120;

/**
 * The rooms, from the ground up, and what each may import besides itself. A file belongs to the longest name that its
 * path begins with. `src` itself holds the entries `rocev2` and `rocev2/browser`.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  packets: [],
  transport: ['packets'],
  pcap: ['packets'],
  'src/ground': ['packets', 'transport'],
  'src/device': ['packets', 'transport', 'src/ground'],
  'src/faults': ['packets', 'transport', 'src/ground'],
  'src/trace': ['packets', 'transport', 'pcap'],
  'src/sim': ['packets', 'transport', 'src/ground', 'src/device', 'src/faults'],
  'src/ulp': ['packets', 'transport', 'src/ground', 'src/device'],
  'src/uverbs': ['packets', 'transport', 'src/ground', 'src/device'],
  'src/node': [
    'packets',
    'transport',
    'pcap',
    'src/ground',
    'src/device',
    'src/faults',
    'src/trace',
    'src/ulp',
    'src/uverbs',
  ],
  src: ['packets', 'transport', 'src/ground', 'src/device', 'src/faults', 'src/sim', 'src/node'],
  tools: [],
};

/**
 * Doors between the parts of a room: the folder may import these files or folders of its room, and nothing else of it.
 */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'packets/kit': ['packets/'],
  'packets/cm': ['packets/'],
  'transport/cm': ['transport/random.ts'],
  'transport/congestion': [
    'transport/counters.ts',
    'transport/qp-identity.ts',
    'transport/random.ts',
    'transport/trace.ts',
  ],
  'pcap/analysis': ['pcap/dissection.ts', 'pcap/tunnels/', 'pcap/types.ts'],
  'pcap/tunnels': [],
  'pcap/filter': ['pcap/analysis/', 'pcap/dissection.ts', 'pcap/tunnels/', 'pcap/types.ts'],
  'src/device/verbs': ['src/device/api.ts', 'src/device/next-hop.ts', 'src/device/options.ts'],
  'src/device/cm': ['src/device/api.ts', 'src/device/options.ts', 'src/device/paths.ts', 'src/device/verbs/'],
  'src/device/host': ['src/device/options.ts', 'src/device/paths.ts'],
  'src/sim/fluid': [],
};

/** Cycles of imports, types included, that are right as they are. */
const RIGHT_CYCLES: readonly (readonly [string, readonly string[]])[] = [
  ['a device has a connection manager, which speaks of queue pairs', ['src/device/api.ts', 'src/device/cm/api.ts']],
];

/** Which file may import which package; node:* is listed as "node". */
const ALLOWED_PACKAGES: readonly (readonly [string, readonly string[]])[] = [
  ['packets/address.ts', ['ipaddr.js']],
  ['packets/layouts', ['buffer-layout']],
  ['src/ground/prng.ts', ['pure-rand']],
  ['src/node/links/libc', ['koffi']],
  ['src/node/links/raw-socket', ['raw-socket']],
  ['src/node/links/pcap', ['cap']],
  ['src/node/', ['node']],
  ['tools/explorer/page/', ['preact', 'uplot']],
  ['tools/explorer/', ['vite', 'vite-plugin-singlefile']],
  ['tools/bench/explorer.ts', ['playwright-core']],
  ['tools/bundle-analyze.mjs', ['node', 'esbuild']],
  ['tools/conformance/mutants/syntax.ts', ['vite']],
  ['tools/conformance/mutants/run.ts', ['node', 'esbuild', 'rocev2']],
  ['tools/conformance/properties/', ['fast-check']],
  ['tools/export/', ['hyparquet-writer']],
  ['tools/site/markdown.ts', ['marked']],
  ['tools/within-netns.ts', ['node', 'koffi']],
  ['tools/', ['node', 'commander', 'ipaddr.js', 'zod', 'rocev2']],
];

/** Time, chance and I/O come in as arguments: none of these outside the files that may import node. */
const BANNED =
  /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|Math\.random|Date\.now|new Date|performance\.now|process\.[a-z]|Buffer\.[a-z]|crypto\.[a-z])\(?|\bfetch\(/g;

/** The library's files at the root of src/: its two entries. */
const ENTRIES = ['src/browser.ts', 'src/index.ts'];

interface Source {
  readonly path: string;
  readonly room: string;
  /** Files of the repository that it imports, types included. */
  readonly targets: readonly string[];
  readonly text: string;
  readonly code: string;
  readonly imports: readonly string[];
}

function readSources(...folders: readonly string[]): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.[cm]?[jt]sx?$/.test(name) && !name.endsWith('.d.ts'))
      .filter((name) => !/^(?:dist|node_modules)\//.test(name))
      .map((name) => {
        const path = join(folder, name);
        const text = readFileSync(join(ROOT, path), 'utf8');
        const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
        const imports = importsOf(code);
        const targets = imports
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => relative(ROOT, join(ROOT, dirname(path), specifier)));
        return { path, room: roomOf(path), targets, text, code, imports };
      }),
  );
}

/** What code without comments imports, in every way that takes a name: types, and `import()` and `require()` too. */
function importsOf(code: string): string[] {
  const found = [
    ...code.matchAll(/^(?:import|export)\b[^;]*?\sfrom\s+['"]([^'"\n]+)['"]/gm),
    ...code.matchAll(/^import\s+['"]([^'"\n]+)['"]/gm),
    ...code.matchAll(/(?<![.\w])(?:import|require)\(\s*['"`]([^'"`$\n]+)['"`]/g),
  ];
  return found.map(([, specifier = '']) => specifier);
}

const SOURCES = readSources('packets', 'transport', 'pcap', 'src', 'tools');
const EXAMPLES = readSources('examples');

/** The longest of the names that the path begins with. */
function longest(names: readonly string[], path: string): string | undefined {
  return names.filter((name) => path.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0];
}

function roomOf(path: string): string {
  return longest(Object.keys(ROOMS), path) ?? path;
}

function mayUse(path: string, packageName: string): boolean {
  return ALLOWED_PACKAGES.some(([prefix, names]) => path.startsWith(prefix) && names.includes(packageName));
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return 'node';
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

describe('architecture', () => {
  it('finds the sources it is about', () => {
    expect(SOURCES.length).toBeGreaterThan(80);
    expect(SOURCES.find((source) => source.path === 'transport/queue-pair.ts')?.imports.length).toBeGreaterThan(5);
  });

  it.each([
    "import { a } from './x.ts';",
    "import type { A } from './x.ts';",
    "export * from './x.ts';",
    "export type { A } from './x.ts';",
    "import {\n  a,\n} from './x.ts';",
    "import './x.ts';",
    "type A = import('./x.ts').A;",
    "await import(\n  './x.ts'\n);",
    'await import(`./x.ts`);',
    'import { a } from "./x.ts";',
    "const a = require('./x.ts');",
  ])('sees the import in %j', (code) => {
    expect(importsOf(code)).toEqual(['./x.ts']);
  });

  it('lets imports point only downwards', () => {
    const wrong = SOURCES.flatMap(({ path, room, targets }) =>
      targets
        .filter(
          (target) => target !== 'package.json' && roomOf(target) !== room && !ROOMS[room]?.includes(roomOf(target)),
        )
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('lets the parts of a room see of it only what their door shows', () => {
    const wrong = SOURCES.flatMap(({ path, room, targets }) => {
      const part = longest(Object.keys(DOORS), path);
      if (part === undefined) return [];
      const shown = DOORS[part] ?? [];
      return targets
        .filter((target) => roomOf(target) === room && !target.startsWith(`${part}/`))
        .filter((target) => !shown.some((open) => (open.endsWith('/') ? target.startsWith(open) : target === open)))
        .map((target) => `${path} imports ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it('keeps what is below upper-layer protocols free of NVMe', () => {
    const below = SOURCES.filter(({ room }) => ['packets', 'transport', 'src/ground', 'src/device'].includes(room));
    expect(below.length).toBeGreaterThan(100);
    expect(below.filter(({ text }) => /nvme/i.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('has no cycle of imports, types included, but those that are named with their reason', () => {
    const cycles = cyclesOf(new Map(SOURCES.map(({ path, targets }) => [path, targets])));
    expect(cycles).toEqual(RIGHT_CYCLES.map(([, files]) => files));
    for (const cycle of cycles) expect(cycle.length).toBeLessThanOrEqual(4);
  });

  it('finds a cycle', () => {
    const graph = new Map([
      ['a', ['b', 'd']],
      ['b', ['c']],
      ['c', ['a']],
      ['d', []],
    ]);
    expect(cyclesOf(graph)).toEqual([['a', 'b', 'c']]);
  });

  it('keeps nothing but entries at the root of src', () => {
    const atRoot = SOURCES.map(({ path }) => path).filter((path) => /^src\/[^/]+$/.test(path));
    expect(atRoot.sort()).toEqual(ENTRIES);
  });

  it('lets Node into the library only by src/node', () => {
    const graph = new Map(SOURCES.map(({ path, targets }) => [path, targets]));
    const reached = reachable(graph, 'src/browser.ts');
    const wrong = SOURCES.filter(({ path }) => reached.has(path)).flatMap(({ path, imports }) =>
      imports.filter((specifier) => specifier.startsWith('node:')).map((specifier) => `${path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
    expect([...reached].filter((path) => path.startsWith('src/node/'))).toEqual([]);
    expect(reached.size).toBeGreaterThan(100);
  });

  it('lets packages in only where they belong', () => {
    const wrong = SOURCES.flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => !specifier.startsWith('.') && !mayUse(path, packageOf(specifier)))
        .map((specifier) => `${path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it('lets tools and examples into the library only by its entries', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const entries = Object.keys(exports).map((name) => name.replace(/^\./, 'rocev2'));
    const wrong = [...SOURCES, ...EXAMPLES].flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => packageOf(specifier) === 'rocev2' && !entries.includes(specifier))
        .map((specifier) => `${path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
    const outside = EXAMPLES.flatMap(({ path, targets, imports }) => [
      ...targets.filter((target) => !target.startsWith('examples/')).map((target) => `${path} imports ${target}`),
      ...imports
        .filter((specifier) => !specifier.startsWith('.') && !['node', 'rocev2'].includes(packageOf(specifier)))
        .map((specifier) => `${path} imports ${specifier}`),
    ]);
    expect(outside).toEqual([]);
    expect(EXAMPLES.length).toBeGreaterThan(5);
  });

  it('keeps clocks, timers, chance and I/O out of everything that must run in a browser', () => {
    const wrong = SOURCES.filter(({ path }) => !mayUse(path, 'node')).flatMap(({ path, code }) =>
      [...code.matchAll(BANNED)].map((match) => `${path} uses ${match[0]}`),
    );
    expect(wrong).toEqual([]);
  });

  it(`keeps every file at ${MAX_LINES} lines at most`, () => {
    const long = SOURCES.filter(({ text }) => text.split('\n').length - 1 > MAX_LINES).map(({ path }) => path);
    expect(long).toEqual([]);
  });

  it(`keeps the prose of comments within ${MAX_COLUMNS} columns`, () => {
    const wide = SOURCES.flatMap(({ path, text }) =>
      text
        .split('\n')
        // Two spaces inside: a table or a diagram.
        .filter((line) => line.length > MAX_COLUMNS && /^\s*(?:\/?\*|\/\/)/.test(line) && !/\S {2,}\S/.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(wide).toEqual([]);
  });

  it('opens every file with a comment that says what it owns', () => {
    const bare = SOURCES.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path);
    expect(bare).toEqual([]);
  });

  it('has a test for every codec', () => {
    const tests = readdirSync(join(ROOT, 'test/packets'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const tested = tests.map((name) => readFileSync(join(ROOT, 'test/packets', name), 'utf8')).join('\n');
    const entries = ['packets/network.ts', 'packets/management.ts'];
    const untested = SOURCES.filter(({ path }) => path.startsWith('packets/') && !path.endsWith('index.ts'))
      .filter(({ path }) => !entries.includes(path))
      .map(({ path }) => path)
      .filter((path) => !tested.includes(`${path}'`) && !isReExported(path, tested));
    expect(untested).toEqual([]);
  });
});

describe('the public entries', () => {
  const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  /** Source file by entry, as `exports` names it: what it ships, dist/x.js, is made from x.ts. */
  const exported = Object.fromEntries(
    Object.entries<string | { readonly default: string; readonly browser?: unknown }>(
      JSON.parse(text('package.json')).exports,
    )
      .filter(([name]) => name !== './package.json')
      .map(([name, at]) => [
        name.replace(/^\./, 'rocev2'),
        (typeof at === 'string' ? at : at.default).replace(/^\.\/dist\/(.*)\.js$/, '$1.ts'),
      ]),
  );

  it('are the same files in exports and in the paths of the compiler', () => {
    const paths = Object.entries<readonly string[]>(JSON.parse(text('tsconfig.json')).compilerOptions.paths);
    expect(Object.fromEntries(paths.map(([name, [file = '']]) => [name, file.replace(/^\.\//, '')]))).toEqual(exported);
  });

  it('all have documentation, each under its name', () => {
    const documented: readonly string[] = JSON.parse(text('typedoc/typedoc.json')).entryPoints;
    const files = documented.map((file) => file.replace(/^\.\.\//, ''));
    expect(files.toSorted()).toEqual(Object.values(exported).sort());
    const named = files.map((file) => [/@module (\S+)/.exec(text(file))?.[1], file]);
    expect(Object.fromEntries(named)).toEqual(exported);
  });
});

/** Tests of packets/cm import through its index. */
function isReExported(path: string, tested: string): boolean {
  return path.startsWith('packets/cm/') && tested.includes("packets/cm/index.ts'");
}

type Graph = ReadonlyMap<string, readonly string[]>;

function reachable(graph: Graph, from: string): Set<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(graph.get(at) ?? []));
  }
  return seen;
}

/**
 * Files that reach themselves, grouped by whom they can reach and be reached from; each group sorted, the groups by
 * their first file.
 */
function cyclesOf(graph: Graph): string[][] {
  const reach = new Map([...graph.keys()].map((file) => [file, reachable(graph, file)]));
  const groups = new Map<string, string[]>();
  for (const [file, reached] of reach) {
    const group = [...reached].filter((other) => reach.get(other)?.has(file)).sort();
    if (group.length > 1) groups.set(group[0] ?? '', group);
  }
  return [...groups.values()].sort(([a = ''], [b = '']) => a.localeCompare(b));
}
