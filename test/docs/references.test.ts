/**
 * Goal: the repository refers to nothing outside itself, and nothing in it leads nowhere.
 * Method: every text that git does not ignore is searched for citations of reference pages (docs/reference/README.md),
 * for paths above the root and, in Markdown, for links. The search is shown to find what is planted in a repository of
 * a few lines.
 */
import { describe, expect, it } from 'vitest';
import { anchorsOf } from './markdown.ts';
import { climbs, countCitations, deadCitations, deadLinks, type Exceptions, machinesOf, NONE } from './references.ts';
import { ignoredBy, type Repository, readRepository } from './repository.ts';

const ROOMS = ['packets', 'transport', 'pcap', 'src', 'tools', 'test', 'docs', 'examples'];

const EXCEPTIONS: Exceptions = {
  // Compiled, this file is one folder deeper: dist/tools.
  climbs: new Set(['tools/package-version.ts: ../../package.json']),
};

const isInScope = (path: string): boolean => ROOMS.includes(path.split('/')[0] ?? '') || /^[^/]+\.md$/.test(path);
const everywhere = (): boolean => true;

describe('the repository', () => {
  const repository = readRepository();

  it('finds the texts and the citations it is about', () => {
    expect([...repository.keys()].filter(isInScope).length).toBeGreaterThan(1000);
    expect(countCitations(repository, isInScope)).toBeGreaterThan(500);
  });

  it('cites pages and sections that are there', () => {
    expectNone(deadCitations(repository, isInScope));
  });

  it('names no path above its root', () => {
    expectNone(climbs(repository, isInScope, EXCEPTIONS));
  });

  it('names no path or registry of one machine', () => {
    expectNone(machinesOf(repository, everywhere));
  });

  it('has links that lead to its own files, and to places in them', () => {
    expectNone(deadLinks(repository, isInScope));
  });

  it('needs every exception that is made for it', () => {
    expect(climbs(repository, isInScope, NONE).length).toBeGreaterThan(
      climbs(repository, isInScope, EXCEPTIONS).length,
    );
  });
});

describe('the search for citations', () => {
  it('takes a page, a section of it, and a full stop that ends the sentence', () => {
    expect(citing('wire', 'wire#6', 'wire#6.', 'wire#5.2', 'wire#5.2.', 'wire#RD-09,', 'wire#6-', 'wire#6)')).toEqual(
      [],
    );
  });

  it('finds a page that is not there, with file and line', () => {
    expect(citing('wire#6', 'wirr#6')).toEqual([`a/b.ts:2: ${cite('wirr#6')}: there is no docs/reference/wirr.md`]);
  });

  it('finds a section that is not there', () => {
    expect(citing('wire#7')).toEqual([`a/b.ts:1: ${cite('wire#7')}: docs/reference/wire.md has no such section`]);
    expect(citing('wire#5.3')).toHaveLength(1);
    expect(citing('wire#6.1')).toHaveLength(1);
  });

  it('takes no other page of the repository for a reference', () => {
    const repository = new Map([
      ['README.md', '# A'],
      ['a.ts', cite('README')],
      ['b.ts', cite('readme')],
    ]);
    expect(deadCitations(repository, everywhere)).toEqual([
      `b.ts:1: ${cite('readme')}: there is no docs/reference/readme.md`,
    ]);
  });

  it('reads nothing out of scope, and no file without a text', () => {
    const repository: Repository = new Map([
      ['in.ts', undefined],
      ['out.ts', cite('nowhere')],
    ]);
    expect(deadCitations(repository, (path) => path === 'in.ts')).toEqual([]);
  });
});

describe('the search for paths above the root', () => {
  it('finds one, wherever it stands in a line', () => {
    expect(climbing('a/b/c.ts', `new URL('${up(3)}beside/x', base)`)).toEqual([
      `a/b/c.ts:1: ${up(3)}beside leads out of the repository`,
    ]);
    expect(climbing('a.md', `see ${up(1)}beside`)).toHaveLength(1);
  });

  it('leaves those alone that stay inside', () => {
    expect(climbing('a/b/c.ts', "import x from '../../d.ts'; import y from './e.ts'; ...rest / 2")).toEqual([]);
  });

  it('leaves an exception alone, in its file only', () => {
    const exceptions = { climbs: new Set([`a/b.ts: ${up(2)}x`]) };
    const repository = new Map([
      ['a/b.ts', `${up(2)}x`],
      ['a/c.ts', `${up(2)}x`],
    ]);
    expect(climbs(repository, everywhere, exceptions)).toEqual([`a/c.ts:1: ${up(2)}x leads out of the repository`]);
  });
});

describe('the search for what one machine has', () => {
  const finding = (text: string): string[] => machinesOf(new Map([['a.ts', text]]), everywhere);
  const path = (...parts: string[]): string => ['', ...parts].join('/');

  it('finds homes, folders of work, and registries', () => {
    for (const planted of [
      path('home', 'me', 'a'),
      path('root', 'x'),
      path('work', 'main', 'y'),
      path('Users', 'me'),
    ]) {
      expect(finding(`see ${planted}`)).toHaveLength(1);
      expect(finding(`const a = '${planted}';`)).toHaveLength(1);
    }
    expect(finding(`${'"resolved"'}: "https://npm.example/a.tgz"`)).toHaveLength(1);
    expect(finding(`${'registry'}=https://npm.example/`)).toHaveLength(1);
  });

  it('leaves alone what every machine has, and other sites', () => {
    expect(finding('/usr/bin/env /tmp/x /dev/null https://example.org/home/me a/work/b')).toEqual([]);
    expect(finding(`${'"resolved"'}: "https://registry.${'npmjs'}.org/a.tgz"`)).toEqual([]);
  });
});

describe('the search for links', () => {
  it('takes files, folders, places in pages, images and other sites', () => {
    const page =
      '[a](b.md) [a](b.md#two-words) ![a](c/d.png) [a](c/) [a](#here) [a](https://example.org/x.md#y)\n# Here';
    expect(linking(page)).toEqual([]);
  });

  it('finds what leads to no file', () => {
    expect(linking('\n[a](e.md)')).toEqual(['docs/a.md:2: e.md: there is no docs/e.md']);
    expect(linking('![a](c/e.png)')).toHaveLength(1);
    expect(linking('[a]: e.md')).toHaveLength(1);
    expect(linking('<a href="e.md">')).toHaveLength(1);
    expect(linking("<a href='e.md'>")).toHaveLength(1);
    for (const title of ['"one"', "'one'", '(one)']) expect(linking(`[a](e.md ${title})`)).toHaveLength(1);
    expect(linking('[a](<e f.md>)')).toEqual(['docs/a.md:1: e f.md: there is no docs/e f.md']);
    expect(linking('\n[a](\ne.md)')).toEqual(['docs/a.md:2: e.md: there is no docs/e.md']);
  });

  it('finds what leads to no place in a page', () => {
    expect(linking('[a](b.md#one-word)')).toEqual(['docs/a.md:1: b.md#one-word: docs/b.md has no such section']);
    expect(linking('[a](#nowhere)')).toHaveLength(1);
  });

  it('finds what leads out of the repository', () => {
    expect(linking(`[a](${up(2)}beside/b.md)`)).toEqual([
      `docs/a.md:1: ${up(2)}beside/b.md: leads out of the repository`,
    ]);
    expect(linking('[a](/etc/hosts)')).toHaveLength(1);
  });

  it('reads no link in code', () => {
    expect(linking('`[a](e.md)` and ``[a](`e.md)``\n```md\n[a](e.md)\n```\n')).toEqual([]);
    expect(linking('```sh\nx\n```\n[a](e.md)')).toHaveLength(1);
  });

  it('takes no link to what a command writes and git ignores', () => {
    expect(deadLinks(new Map([['a.md', '[a](out/b)']]), everywhere)).toHaveLength(1);
  });
});

describe('anchors of a page', () => {
  it('are what GitHub makes of its headings', () => {
    const page = '# A `b_c` & d-e: (f)\n## [G](h.md) **i**\n### J\n### J\n```\n# no heading\n```\n';
    expect([...anchorsOf(page)]).toEqual(['a-b_c--d-e-f', 'g-i', 'j', 'j-1']);
  });

  it('are the ids that it names, too', () => {
    expect([...anchorsOf('<a id="5.2"></a>\n\n| <a id="x"></a><a name="y"></a> |\n`<a id="z"></a>`')]).toEqual([
      '5.2',
      'x',
      'y',
    ]);
  });
});

describe('what git ignores', () => {
  it('is what the last rule that fits says', () => {
    const isIgnored = ignoredBy('# out\n\nout/\n*.cap\n!test/**/*.cap\ndocs/api/\na/b\n.x/\n');
    const ignored = ['out', 'a/out', 'a.cap', 'docs/b.cap', 'docs/api', 'a/b', '.x'];
    const kept = ['outer', 'a.capx', 'test/a.cap', 'test/b/c.cap', 'a/docs/api', 'c/a/b', 'axb', 'yx'];
    expect([...ignored, ...kept].filter(isIgnored)).toEqual(ignored);
  });
});

/** A citation, put together here: those of this file are planted, and not its own. */
function cite(what: string): string {
  return ['ref', what].join(':');
}

/** The way up by so many folders, likewise. */
function up(levels: number): string {
  return ['..', '/'].join('').repeat(levels);
}

function citing(...what: string[]): string[] {
  const page = '<a id="6"></a>\n\n## 6. Six\n\n<a id="5.2"></a>\n<a id="RD-09"></a>';
  const repository = new Map([
    ['docs/reference/wire.md', page],
    ['a/b.ts', what.map((citation) => `// ${cite(citation)} and more`).join('\n')],
  ]);
  return deadCitations(repository, everywhere);
}

function climbing(path: string, text: string): string[] {
  return climbs(new Map([[path, text]]), everywhere, NONE);
}

function linking(page: string): string[] {
  const repository: Repository = new Map([
    ['docs/a.md', page],
    ['docs/b.md', '# One\n## Two words'],
    ['docs/c/d.png', undefined],
  ]);
  return deadLinks(repository, everywhere);
}

function expectNone(problems: readonly string[]): void {
  if (problems.length > 0) expect.fail(`${problems.length} do not resolve:\n${problems.join('\n')}`);
}
