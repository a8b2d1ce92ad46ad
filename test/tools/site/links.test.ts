/**
 * Goal: each link of the repository's pages leads to the right part of the site, what it needs is remembered, and
 * nothing that is withheld gets there. Method: a repository of a few files.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { explorerHref, isWithheld, Links } from '../../../tools/site/links.ts';

const root = mkdtempSync(join(tmpdir(), 'roce-site-links-'));
const FILES = ['README.md', 'docs/a.md', 'docs/b/c.svg', 'docs/b/d.pcapng', 'e/d.pcapng', 'e/README.md', 'e/f.ts'];
for (const file of [...FILES, 'LICENSE', 'embargo/g.md', 'docs/embargo/h.pcapng']) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), '');
}
afterAll(() => rmSync(root, { recursive: true }));

describe('a link', () => {
  const links = new Links(['README.md'], root);

  it.each([
    ['a page, whose page the site gets', 'docs/a.md', '../README.md#x', '../README.html#x'],
    ['another page', 'README.md', 'docs/a.md', 'docs/a.html'],
    ['a folder, which is its README', 'docs/a.md', '../e/', '../e/README.html'],
    ['a place of the page itself', 'docs/a.md', '#x', '#x'],
    ['a picture', 'docs/a.md', 'b/c.svg', 'b/c.svg'],
    ['a capture', 'docs/a.md', 'b/d.pcapng', 'b/d.pcapng'],
    ['a source', 'docs/a.md', '../e/f.ts#L3', '../source/e/f.ts.html#L3'],
    ['a text without an ending', 'README.md', 'LICENSE', 'source/LICENSE.html'],
    ['another site', 'README.md', 'https://example.org/a.md', 'https://example.org/a.md'],
  ])('to %s', (_, from, target, href) => {
    expect(links.href(from, target)).toBe(href);
  });

  it('puts what it needs on the list', () => {
    expect([...links.pages]).toEqual(['README.md', 'docs/a.md', 'e/README.md']);
    expect([...links.files]).toEqual(['docs/b/c.svg', 'docs/b/d.pcapng']);
    expect([...links.texts]).toEqual(['e/f.ts', 'LICENSE']);
    expect([...links.captures]).toEqual([['d', 'docs/b/d.pcapng']]);
  });

  it('to what is withheld leads nowhere, and puts nothing on the list', () => {
    const own = new Links([], root);
    for (const target of [
      'embargo/g.md',
      'embargo/',
      'docs/embargo/h.pcapng',
      './embargo/g.md',
      'docs/../embargo/g.md',
    ])
      expect(own.href('README.md', target)).toBeUndefined();
    expect(own.openInExplorer('README.md', 'docs/embargo/h.pcapng')).toBe('');
    expect([own.pages.size, own.files.size, own.texts.size, own.captures.size]).toEqual([0, 0, 0, 0]);
    expect(['embargo', 'embargo/x', 'a/embargo/x', 'embargoed.md'].filter(isWithheld)).toHaveLength(3);
  });

  it('to nothing, or out of the repository, is an error', () => {
    expect(() => links.href('docs/a.md', 'z.md')).toThrow('docs/a.md: z.md: there is no docs/z.md');
    expect(() => links.href('docs/a.md', '../../z.md')).toThrow('there is no ../z.md');
  });

  it('to a second capture of the same name is an error: their pages would be one', () => {
    expect(() => links.href('README.md', 'e/d.pcapng')).toThrow('the same page');
  });
});

describe('ways into the explorer', () => {
  it('follow a capture', () => {
    const html = new Links([], root).openInExplorer('docs/a.md', 'b/d.pcapng');
    expect(html).toContain('<a href="../explorer/d.html"');
    expect(new Links([], root).openInExplorer('docs/a.md', 'b/c.svg')).toBe('');
  });

  it('are made of addresses that a page quotes', () => {
    expect(explorerHref('docs/a.md', '#view=playground&lesson=x-y')).toBe(
      '../explorer/index.html#view=playground&lesson=x-y',
    );
    for (const code of ['#view=...', '#lesson=x', 'view=packets'])
      expect(explorerHref('docs/a.md', code)).toBeUndefined();
  });
});
