/** The site that the page is a part of, if it is one of several: `npm run site`. Owns the ways to its other pages. */

/** Address of a page of the site, by its path in it; undefined where the explorer is a page by itself. */
export function sitePage(path: string): string | undefined {
  const base = document.documentElement.dataset['site'];
  return base === undefined ? undefined : `${base}${path}`;
}
