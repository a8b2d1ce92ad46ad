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

/** What each room may import of the others. */
const ALLOWED_ROOMS: Readonly<Record<string, readonly string[]>> = {
  packets: ['packets'],
  transport: ['packets', 'transport'],
  pcap: ['packets', 'pcap'],
  src: ['packets', 'transport', 'pcap', 'src'],
  tools: ['packets', 'transport', 'pcap', 'src', 'tools'],
};

/** Which file may import which package; node:* is listed as "node". */
const ALLOWED_PACKAGES: readonly (readonly [string, readonly string[]])[] = [
  ['packets/address.ts', ['ipaddr.js']],
  ['packets/layouts', ['buffer-layout']],
  ['src/fabric/prng.ts', ['pure-rand']],
  ['src/links/libc', ['koffi']],
  ['src/links/raw-socket', ['raw-socket']],
  ['src/links/pcap', ['cap']],
  ['src/links/', ['node']],
  ['src/worker/', ['node']],
  ['src/bump.ts', ['node']],
  ['src/driver.ts', ['node']],
  ['src/bulk-crc32.ts', ['node']],
  ['src/clock.ts', ['node']],
  ['src/open-here.ts', ['node']],
  ['tools/explorer/page/', ['preact', 'uplot']],
  ['tools/explorer/', ['vite', 'vite-plugin-singlefile']],
  ['tools/bench/explorer.ts', ['playwright-core']],
  ['tools/conformance/properties/', ['fast-check']],
  ['tools/', ['node', 'commander', 'ipaddr.js', 'zod']],
];

/** Time, chance and I/O come in as arguments: none of these outside the files that may import node. */
const BANNED =
  /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|Math\.random|Date\.now|new Date|performance\.now|process\.[a-z]|Buffer\.[a-z]|crypto\.[a-z])\(?|\bfetch\(/g;

interface Source {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly code: string;
  readonly imports: readonly string[];
}

function readSources(): Source[] {
  return Object.keys(ALLOWED_ROOMS).flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => {
        const path = join(room, name);
        const text = readFileSync(join(ROOT, path), 'utf8');
        const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
        const imports = [
          ...code.matchAll(
            /^(?:import|export)\b[^;]*?\sfrom '([^'\n]+)'|\bimport\('([^'\n]+)'\)|^import '([^'\n]+)'/gm,
          ),
        ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
        return { path, room, text, code, imports };
      }),
  );
}

const SOURCES = readSources();

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

  it('lets imports point only towards packets', () => {
    const wrong = SOURCES.flatMap(({ path, room, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => relative(ROOT, join(ROOT, dirname(path), specifier)))
        .filter((target) => !ALLOWED_ROOMS[room]?.includes(target.split('/')[0] ?? '') && target !== 'package.json')
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('lets packages in only where they belong', () => {
    const wrong = SOURCES.flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => !specifier.startsWith('.') && !mayUse(path, packageOf(specifier)))
        .map((specifier) => `${path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
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

  it('opens every file with a comment that says what it owns', () => {
    const bare = SOURCES.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path);
    expect(bare).toEqual([]);
  });

  it('has a test for every codec', () => {
    const tests = readdirSync(join(ROOT, 'test/packets'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const tested = tests.map((name) => readFileSync(join(ROOT, 'test/packets', name), 'utf8')).join('\n');
    const untested = SOURCES.filter(({ path }) => path.startsWith('packets/') && !path.endsWith('index.ts'))
      .map(({ path }) => path)
      .filter((path) => !tested.includes(`${path}'`) && !isReExported(path, tested));
    expect(untested).toEqual([]);
  });
});

/** Tests of packets/cm import through its index. */
function isReExported(path: string, tested: string): boolean {
  return path.startsWith('packets/cm/') && tested.includes("packets/cm/index.ts'");
}
