/** Where one can jump to in a rendered page of Markdown. Owns the names of headings, which follow GitHub. */

/** Lower case, without punctuation, hyphens for blanks. @param heading as written in Markdown */
export function slugOf(heading: string): string {
  return heading
    .replace(/<[^>]+>/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** The names of one page: equal headings get numbers. */
export class Slugs {
  readonly #seen = new Map<string, number>();

  /** The name of the next heading. */
  take(heading: string): string {
    const slug = slugOf(heading);
    const before = this.#seen.get(slug) ?? 0;
    this.#seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  }
}
