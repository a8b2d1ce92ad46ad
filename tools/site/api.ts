/**
 * The pages of the API within the site: TypeDoc makes them; they get a link to the rest of the site, and their links to
 * sources lead to the site's own pages.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './links.ts';
import { hrefTo, pagePath, SOURCE_FOLDER, siteBase } from './place.ts';
import { HOME } from './template.ts';

/**
 * Makes them in `api/` of the site. A name without a comment is an error here, as in `npm run docs`.
 *
 * @returns the sources that they link to, by path in the repository
 */
export async function writeApi(site: string): Promise<Set<string>> {
  const out = join(site, FOLDER);
  await typedoc(['--out', out, '--sourceLinkTemplate', `../../${SOURCE_FOLDER}/{path}.html#L{line}`]);
  const sources = new Set<string>();
  const places = placesOf(readFileSync(join(out, HIERARCHY), 'utf8'));
  for (const name of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html')) continue;
    const html = readFileSync(join(out, name), 'utf8');
    for (const [, source = ''] of html.matchAll(SOURCE)) sources.add(source);
    writeFileSync(join(out, name), withWayHome(inHierarchy(html, places), `${FOLDER}/${name}`));
  }
  return sources;
}

/** Pages of docs/ that it names are links, too. @throws Error where TypeDoc's page is made otherwise than expected */
export function withWayHome(html: string, path: string): string {
  const link = `<a href="${siteBase(path)}${HOME}">the whole site</a>`;
  const linked = html.replace(TOOLBAR, `${TOOLBAR}${link}`);
  if (linked === html) throw new Error(`${path} has no place for a link to the rest of the site`);
  return linked.replace(GUIDE, (code, guide: string) =>
    existsSync(join(ROOT, guide)) ? `<a href="${hrefTo(path, pagePath(guide))}">${code}</a>` : code,
  );
}

/** Types whose base is not published are in no place of TypeDoc's hierarchy, although it links to one. */
export function inHierarchy(html: string, places: ReadonlySet<string>): string {
  return html.replace(/hierarchy\.html#([^"]*)/g, (link, place: string) => (places.has(place) ? link : HIERARCHY));
}

function placesOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
}

function typedoc(options: readonly string[]): Promise<void> {
  const room = join(ROOT, 'typedoc');
  return new Promise((resolve, reject) => {
    const child = spawn('npx', ['--no-install', 'typedoc', ...options], {
      cwd: room,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`TypeDoc ended with ${code}:\n${said}`))));
  });
}

const FOLDER = 'api';
const HIERARCHY = 'hierarchy.html';
const TOOLBAR = '<div id="tsd-toolbar-links">';
const GUIDE = /<code>(docs\/[\w-]+\.md)<\/code>/g;
const SOURCE = new RegExp(`href="(?:\\.\\./)+${SOURCE_FOLDER}/([^"#]+)\\.html#L\\d+"`, 'g');
