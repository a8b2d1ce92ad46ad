/** What every page of the site has around its content: navigation, one style sheet, no script. Owns that frame. */
import { escaped } from './escape.ts';
import { EXPLORER, hrefTo, pagePath } from './place.ts';

/** A page without its frame. */
export interface Content {
  /** Where it is in the site. */
  readonly path: string;
  readonly title: string;
  /** What belongs into `main`. */
  readonly html: string;
  /** Path of what the navigation marks as the present place. */
  readonly under?: string;
}

/** The page. @param withApi whether the site has the pages of the API */
export function framed({ path, title, html, under = path }: Content, withApi: boolean): string {
  const items = NAVIGATION.filter(({ to }) => withApi || to !== API).map(({ name, to, anchor = '' }) => {
    const current = under === `${to}${anchor}` ? ' aria-current="true"' : '';
    return `<li><a href="${hrefTo(path, to)}${anchor}"${current}>${name}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}${path === HOME ? '' : ' - rocev2'}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${hrefTo(path, STYLE_SHEET)}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="Site"><ul>${items.join('')}</ul></nav>
</header>
<main id="content">
${html}
</main>
</body>
</html>
`;
}

export const HOME = 'index.html';
export const GUIDES = 'guides.html';
export const ANNOTATED = 'annotated.html';
export const SAMPLES = 'samples.html';
export const API = 'api/index.html';
export const LESSONS_PAGE = pagePath('docs/lessons.md');
export const SYMPTOMS_PAGE = pagePath('docs/symptoms.md');
export const STYLE_SHEET = 'style.css';

interface Item {
  readonly name: string;
  readonly to: string;
  readonly anchor?: string;
}

const NAVIGATION: readonly Item[] = [
  { name: 'rocev2', to: HOME },
  { name: 'Lessons', to: LESSONS_PAGE },
  { name: 'Byte by byte', to: ANNOTATED },
  { name: 'Explorer', to: EXPLORER },
  { name: 'Samples', to: SAMPLES },
  { name: 'Symptoms', to: SYMPTOMS_PAGE },
  { name: 'Guides', to: GUIDES },
  { name: 'Results', to: GUIDES, anchor: '#results' },
  { name: 'API', to: API },
];
