/**
 * The two things of a Markdown page that other pages depend on: where it can be jumped to, and where it leads.
 * Owns this reading, which follows GitHub; never looks at another page.
 */
import { Slugs } from '../../tools/site/slug.ts';

/** A place of a page that leads somewhere. */
export interface Link {
  readonly line: number;
  /** As written: `page.md#section`, `#section`, `https://...`. */
  readonly target: string;
}

/** Every name that a link to this page may end in: explicit ids, and what GitHub makes of the headings. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const slugs = new Slugs();
  for (const line of linesOf(page)) {
    for (const match of withoutCode(line).matchAll(/<[a-z]+\s[^>]*?\b(?:id|name)="([^"]+)"/g))
      anchors.add(match[1] ?? '');
    const heading = /^#{1,6}\s+(.*?)(?:\s+#+)?\s*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    anchors.add(slugs.take(heading));
  }
  return anchors;
}

/** Every link, image, definition and HTML reference, code aside. A target may stand on the line after its bracket. */
export function linksOf(page: string): Link[] {
  const text = linesOf(page).map(withoutCode).join('\n');
  const found = [
    ...text.matchAll(/\]\(\s*(?:<([^>\n]*)>|([^)\s<>|]+))(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\)/g),
    ...text.matchAll(/^[ \t]{0,3}\[[^\]\n]+\]:[ \t]+(?:<([^>\n]*)>|([^\s<>]+))/gm),
    ...text.matchAll(/<[a-z]+\s[^>]*?\b(?:href|src)=(?:"([^"]+)"|'([^']+)')/g),
  ];
  return found.map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    target: match[1] ?? match[2] ?? '',
  }));
}

/** Lines by number; those of fenced code are empty. */
function linesOf(page: string): string[] {
  let fence: string | undefined;
  return page.split('\n').map((line) => {
    const mark = /^\s{0,3}(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined) {
      fence = mark;
      return mark === undefined ? line : '';
    }
    if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
    return '';
  });
}

function withoutCode(line: string): string {
  return line.replace(/(`+)(?!`).*?(?<!`)\1(?!`)/g, '');
}
