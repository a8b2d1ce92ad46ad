/**
 * Goal: docs/congestion.md leaves no scenario out and names nothing that is not there.
 * Method: its text against the folders: every scenario that is built in is run by a command of the page, and every
 * command, file and link of the page exists. What a command sets is checked as `roce sim` would check it; nothing is
 * run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '../../../tools/experiment/load.ts';
import { parseSetting } from '../../../tools/sim/run/plan.ts';
import { builtInNames, loadScenario, readScenario } from '../../../tools/sim/scenario/load.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PAGE = readFileSync(`${ROOT}docs/congestion.md`, 'utf8');
/** What is set as code, inline or in a block, one line each. Tables write a bar inside code as `\|`. */
const CODE = [...PAGE.matchAll(/^```\w*\n([\s\S]*?)^```|`([^`\n]+)`/gm)]
  .flatMap(([, block, inline]) => (block ?? inline ?? '').split('\n'))
  .map((line) => line.replace(/\s+#.*$/, '').trim());

interface Sim {
  readonly command: string;
  readonly name: string;
  readonly words: readonly string[];
}

const SIMS = commands('npm run roce -- sim ').map(
  ([command, name = '', ...words]): Sim => ({ command, name, words: words.map(unquoted) }),
);
const EXPERIMENTS = commands('npm run roce -- experiment run ');
const TEST_FILES = [...new Set(CODE.flatMap((line) => line.match(/\btest\/\S+\.ts\b/g) ?? []))];

describe('the page about congestion', () => {
  it.each(builtInNames())('has a command for %s', (scenario) => {
    expect(SIMS.map(({ name }) => name)).toContain(scenario);
  });

  it.each(SIMS)('$command: scenario, variants and settings are there', ({ name, words }) => {
    const settings = valuesOf(words, '--set').map(parseSetting);
    const [seed] = valuesOf(words, '--seed').map(Number);
    const { variants } = loadScenario(readScenario(name), settings, seed, valuesOf(words, '--variant'));
    expect(variants.length).toBeGreaterThan(0);
  });

  it.each(EXPERIMENTS)('%s: experiment and case are there', (_, name = '', ...words) => {
    const { cases } = loadExperiment(name);
    for (const wanted of valuesOf(words, '--case')) expect(cases.map((spec) => spec.name)).toContain(wanted);
  });

  it.each(TEST_FILES)('%s is there, and runs where the page says', (file) => {
    expect(existsSync(ROOT + file)).toBe(true);
    const lines = CODE.filter((line) => line.startsWith('npm') && line.includes(file));
    const long = file.endsWith('.long.test.ts');
    for (const line of lines) expect(line).toMatch(long ? /^npm run test:long -- / : /^npm test -- /);
  });

  it('has commands of all three kinds', () => {
    expect(SIMS.length).toBeGreaterThan(10);
    expect(EXPERIMENTS.length).toBeGreaterThan(1);
    expect(TEST_FILES.length).toBeGreaterThan(10);
  });

  it('uses of npm run only what package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> };
    const used = CODE.flatMap((line) => /^npm (?:run )?([\w:-]+)/.exec(line)?.[1] ?? []);
    expect(used.length).toBeGreaterThan(20);
    for (const script of used) expect(Object.keys(scripts)).toContain(script);
  });

  it('names files of the project that are there', () => {
    const files = CODE.flatMap((line) => line.match(/^(?:transport|src|tools|packets|pcap)\/[\w./-]*$/) ?? []);
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect(existsSync(ROOT + file), file).toBe(true);
  });

  it('links to headings and files that are there', () => {
    const headings = [...PAGE.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
    const links = [...PAGE.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(2);
    for (const link of links) {
      if (link.startsWith('#')) expect(headings).toContain(link.slice(1));
      else expect(existsSync(`${ROOT}docs/${link.replace(/#.*/, '')}`), link).toBe(true);
    }
  });
});

/** Lines of code that begin so: the whole line, then the words that follow. */
function commands(start: string): readonly (readonly [command: string, ...words: string[]])[] {
  const lines = [...new Set(CODE.filter((line) => line.startsWith(start)))];
  return lines.map((line) => [line, ...line.slice(start.length).split(/\s+/)]);
}

function valuesOf(words: readonly string[], option: string): string[] {
  return words.flatMap((word, at) => (word === option ? (words[at + 1] ?? []) : []));
}

function unquoted(word: string): string {
  return word.replace(/^'(.*)'$/, '$1');
}

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
