/**
 * A page of Markdown as HTML. Owns what is ours in it: names of headings, as GitHub has them; tables and code that
 * scroll by themselves; links, of which the caller says where they lead.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { escaped } from './escape.ts';
import { Slugs } from './slug.ts';

export interface Rendered {
  /** Text of the first heading. */
  readonly title: string;
  readonly html: string;
}

export interface MarkdownOptions {
  /** Where a link or a picture leads. @param target as written; undefined: it stays text */
  readonly href: (target: string) => string | undefined;
  /** HTML that follows a link, for example another way to open the same thing. */
  readonly afterLink?: (target: string) => string;
  /** HTML that follows a heading of the second level. @param slug its name */
  readonly afterSection?: (slug: string) => string;
  /** Where text that stands as code leads to; undefined: nowhere. */
  readonly codeHref?: (code: string) => string | undefined;
}

/** The page, without a frame. */
export function renderMarkdown(markdown: string, options: MarkdownOptions): Rendered {
  const { href, afterLink, afterSection, codeHref } = options;
  const slugs = new Slugs();
  const sections: { readonly slug: string; readonly html: string }[] = [];
  let title = '';
  const marked = new Marked({
    renderer: {
      heading({ tokens, text, depth }: Tokens.Heading): string {
        const [slug, html] = [slugs.take(text), this.parser.parseInline(tokens)];
        if (title === '') title = plain(tokens);
        if (depth === 2) sections.push({ slug, html: html.replace(/<\/?a\b[^>]*>/g, '') });
        const after = depth === 2 ? (afterSection?.(slug) ?? '') : '';
        return `<h${depth} id="${escaped(slug)}">${html}</h${depth}>\n${after}`;
      },
      link({ href: target, tokens }: Tokens.Link): string {
        const [to, html] = [href(target), this.parser.parseInline(tokens)];
        return to === undefined ? html : `<a href="${escaped(to)}">${html}</a>${afterLink?.(target) ?? ''}`;
      },
      image({ href: target, text }: Tokens.Image): string {
        return `<img src="${escaped(href(target) ?? '')}" alt="${escaped(text)}">`;
      },
      codespan({ text }: Tokens.Codespan): string {
        const [to, html] = [codeHref?.(text), `<code>${escaped(text)}</code>`];
        return to === undefined ? html : `<a href="${escaped(to)}">${html}</a>`;
      },
    },
  });
  const body = scrolling(marked.parse(markdown, { async: false }));
  return { title, html: withContents(body, sections) };
}

/** What is wider than a telephone scrolls, by keys as well. An empty head of a column is no head. */
function scrolling(html: string): string {
  return html
    .replaceAll('<table>', '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replace(/<th([^>]*)><\/th>/g, '<td$1></td>');
}

/** With a list of its sections behind the first heading, where there are more than a few. */
function withContents(html: string, sections: readonly { readonly slug: string; readonly html: string }[]): string {
  if (sections.length < FEW) return html;
  const items = sections.map(({ slug, html: name }) => `<li><a href="#${escaped(slug)}">${name}</a></li>`);
  const list = `<nav aria-label="On this page"><details><summary>On this page</summary><ul>${items.join('')}</ul></details></nav>\n`;
  return html.replace(/<\/h1>\n/, (end) => `${end}${list}`);
}

function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plain(token.tokens) : 'text' in token ? token.text : ''))
    .join('');
}

const FEW = 4;
