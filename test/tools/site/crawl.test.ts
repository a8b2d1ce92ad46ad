/**
 * Goal: the crawler finds every kind of link that would fail somewhere: on another host, below another path, from a
 * file, without a network. Method: folders of a few pages, each with one fault.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CrawlOptions, crawl } from '../../../tools/site/crawl.ts';

/** Faults of a site in which `index.html` says this, beside other pages. */
function faultsOf(
  says: string,
  options: Partial<CrawlOptions> = {},
  more: Readonly<Record<string, string>> = {},
): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'roce-crawl-'));
  try {
    for (const [file, text] of Object.entries({ ...PAGES, 'index.html': `<a href="a/b.html">b</a>${says}`, ...more })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    return crawl(folder, { start: 'index.html', ...options }).faults;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const PAGES = {
  'a/b.html': '<h1 id="x">b</h1><a name="y"></a><a href="../index.html">home</a><p id=bare></p>',
  'c.svg': '<svg><g id="z"/></svg>',
  's.css': 'a { color: red }',
};

describe('a site without faults', () => {
  it.each([
    [
      'a page, places in it, and one of this page',
      '<a href="a/b.html#x">1</a><a href="a/b.html#y">2</a><a href="#here" id="here">3</a>',
    ],
    ['an id without quotes', '<a href="a/b.html#bare">1</a>'],
    ['a style sheet and a picture, which are there', '<link rel="stylesheet" href="s.css"><img src="c.svg" alt="">'],
    ['a place in a picture', '<svg><use href="c.svg#z"/></svg>'],
    ['other sites, to which one may go', '<a href="https://example.org/">e</a><a href="mailto:a@example.org">m</a>'],
    ['data within the page', '<link rel="icon" href="data:,"><img src="data:image/png;base64,AA" alt="">'],
    ['names with character references', '<a href="a/b&#46;html#&#x78;">1</a>'],
    ['names in percent', '<a href="a/%62.html#%78">1</a>'],
    ['nothing at all, and the top', '<a href="">1</a><a href="#">2</a>'],
    [
      'what stands in a script, a comment or a text',
      '<script>"<a href=z.html>"</script><!-- <a href="z.html"> --><pre>&lt;a href="z.html"&gt;</pre>',
    ],
  ])('has %s', (_, says) => {
    expect(faultsOf(says)).toEqual([]);
  });

  it('is counted', () => {
    const folder = mkdtempSync(join(tmpdir(), 'roce-crawl-'));
    writeFileSync(join(folder, 'index.html'), '<a href="#a" id="a">1</a><a href="index.html">2</a>');
    expect(crawl(folder, { start: 'index.html' })).toEqual({ pages: 1, links: 2, faults: [] });
    rmSync(folder, { recursive: true });
  });
});

describe('the crawler finds', () => {
  it.each([
    ['a page that is not there', '<a href="z.html">z</a>', 'z.html: there is no z.html'],
    ['a page of that name in other letters', '<a href="A/b.html">b</a>', 'A/b.html: there is no A/b.html'],
    ['a place that is not there', '<a href="a/b.html#w">b</a>', 'a/b.html#w: a/b.html has no such place'],
    ['a place of this page that is not there', '<a href="#w">b</a>', '#w: index.html has no such place'],
    ['a place in what has none', '<a href="s.css#w">b</a>', 's.css#w: s.css has no such place'],
    ['a folder, which a browser lists', '<a href="a/">a</a>', 'a/: there is no a/'],
    ['a path from the root of a host', '<a href="/index.html">a</a>', '/index.html: it depends on where the site is'],
    ['a path above the site', '<a href="../index.html">a</a>', '../index.html: there is no ../index.html'],
    [
      'a file of a machine',
      '<a href="file:///etc/hosts">a</a>',
      'file:///etc/hosts: it leads to one machine, or nowhere',
    ],
    [
      'a program as an address',
      '<a href="javascript:x()">a</a>',
      'javascript:x(): it leads to one machine, or nowhere',
    ],
    [
      'a picture of another site',
      '<img src="https://e.org/a.png">',
      'https://e.org/a.png: it is loaded from elsewhere',
    ],
    ['a script of another site', '<script src="//e.org/a.js"></script>', '//e.org/a.js: it is loaded from elsewhere'],
    [
      'a style of another site',
      '<link rel=stylesheet href=https://e.org/a.css>',
      'https://e.org/a.css: it is loaded from elsewhere',
    ],
    [
      'a font of another site',
      '<style>@font-face { src: url("https://e.org/f") }</style>',
      'https://e.org/f: it is loaded from elsewhere',
    ],
    ['a style that fetches another', '<style>@import "t.css";</style>', 't.css: there is no t.css'],
    ['a picture of a style of an element', '<p style="background: url(t.png)">', 't.png: there is no t.png'],
    ['one of many pictures', '<img srcset="c.svg 1x, t.png 2x">', 't.png: there is no t.png'],
    ['two places of a name', '<p id="q"></p><p id="q"></p>', '#q: more than one place has this name'],
    ['a word in angle brackets that became an element', 'FILE <name> and more', '<name>: there is no such element'],
  ])('%s', (_, says, fault) => {
    expect(faultsOf(says)).toEqual([`index.html: ${fault}`]);
  });

  it('what a style sheet fetches', () => {
    expect(faultsOf('', {}, { 's.css': 'a { background: url(t.png) }' })).toEqual(['s.css: t.png: there is no t.png']);
  });

  it('a page to which nothing leads', () => {
    const more = { 'd.html': '<a href="e.html">e</a>', 'e.html': '<a href="d.html">d</a>' };
    expect(faultsOf('', {}, more)).toEqual(['d.html: no page leads to it', 'e.html: no page leads to it']);
    expect(faultsOf('<a href="d.html">d</a>', {}, more)).toEqual([]);
  });

  it('what must not be said, in any file', () => {
    const unspeakable = ['/made/here'];
    expect(faultsOf('', { unspeakable }, { 'a/x.js': '"/made/here/x"' })).toEqual(['a/x.js: it says /made/here']);
    expect(faultsOf('', { unspeakable: ['/made/there'] }, { 'a/x.js': '"/made/here/x"' })).toEqual([]);
  });

  it('an address that a program does not know, and leaves those alone that it knows', () => {
    const state = (page: string, hash: string): boolean | undefined =>
      page === 'a/b.html' ? hash === 'view=a' : undefined;
    expect(faultsOf('<a href="a/b.html#view=a">1</a>', { state })).toEqual([]);
    expect(faultsOf('<a href="a/b.html#x">1</a>', { state })).toEqual([
      'index.html: a/b.html#x: a/b.html has no such place',
    ]);
    expect(faultsOf('<a href="#here" id="here">1</a>', { state })).toEqual([]);
  });
});
