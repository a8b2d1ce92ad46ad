/**
 * Goal: a page of Markdown becomes HTML in which every heading has the name that GitHub gives it, and every link leads
 * where the caller says. Method: pages of a few lines.
 */
import { describe, expect, it } from 'vitest';
import { type MarkdownOptions, renderMarkdown } from '../../../tools/site/markdown.ts';
import { anchorsOf } from '../../docs/markdown.ts';

const AS_IT_IS: MarkdownOptions = { href: (target) => target };
const rendered = (markdown: string, options: Partial<MarkdownOptions> = {}): string =>
  renderMarkdown(markdown, { ...AS_IT_IS, ...options }).html;
const idsOf = (html: string): string[] => [...html.matchAll(/<h\d id="([^"]*)"/g)].map(([, id = '']) => id);

describe('headings', () => {
  it('have the names that links on GitHub use', () => {
    const page = '# A `b_c` & d-e: (f)\n\n## [G](h.md) **i**\n\n### J\n\n### J\n\n## K <b>l</b> ##\n';
    expect(idsOf(rendered(page))).toEqual([...anchorsOf(page)]);
    expect(idsOf(rendered(page))).toEqual(['a-b_c--d-e-f', 'g-i', 'j', 'j-1', 'k-l']);
  });

  it('give the page its title, without marks', () => {
    expect(renderMarkdown('# Tables: `roce export` of **a** & b\n\n# Other', AS_IT_IS).title).toBe(
      'Tables: roce export of a & b',
    );
  });

  it('are listed where there are many, without links within links', () => {
    const many = '# A\n\n## [B](b.md) `x`\n\n## C\n\n## D\n\n## E\n';
    expect(rendered(many)).toContain('<li><a href="#b-x">B <code>x</code></a></li><li><a href="#c">C</a></li>');
    expect(rendered('# A\n\n## B\n\n## C\n')).not.toContain('<nav');
  });

  it('of the second level may be followed by something', () => {
    const html = rendered('# A\n\n## B\n\ntext\n\n### C\n', { afterSection: (slug) => `<p>more of ${slug}</p>` });
    expect(html).toContain('</h2>\n<p>more of b</p>');
    expect(html).not.toMatch(/more of [ac]/);
  });
});

describe('links', () => {
  it('lead where the caller says, in text, tables and pictures', () => {
    const html = rendered('[a](b.md) ![c & d](e.svg)\n\n| f |\n| --- |\n| [g](h.md) |\n\n[i][j]\n\n[j]: k.md', {
      href: (target) => `to/${target}?"`,
    });
    expect([...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target)).toEqual(
      ['b.md', 'e.svg', 'h.md', 'k.md'].map((target) => `to/${target}?&#34;`),
    );
    expect(html).toContain('alt="c &#38; d"');
  });

  it('become text where they lead nowhere', () => {
    expect(rendered('see [a **b**](c.md).', { href: () => undefined })).toContain('<p>see a <strong>b</strong>.</p>');
  });

  it('may be followed by another one', () => {
    expect(rendered('[a](b.pcapng)', { afterLink: (target) => ` (${target})` })).toContain('>a</a> (b.pcapng)');
  });

  it('are made of code that is an address', () => {
    const codeHref = (code: string): string | undefined => (code.startsWith('#') ? `x.html${code}` : undefined);
    expect(rendered('`#a=b` and `c<d`', { codeHref })).toBe(
      '<p><a href="x.html#a=b"><code>#a=b</code></a> and <code>c&#60;d</code></p>\n',
    );
  });
});

describe('what is wide', () => {
  it('scrolls by itself, and by keys', () => {
    const html = rendered('| a | |\n| --- | --- |\n| b | c |\n\n```sh\nd > e\n```\n');
    expect(html).toContain('tabindex="0"><table>');
    expect(html).toContain('</table></div>');
    expect(html).toMatch(/<pre tabindex="0"><code[^>]*>d &gt; e/);
    expect(html).not.toContain('<th></th>');
  });
});
