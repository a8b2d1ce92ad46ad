/**
 * Follows every link of a folder of web pages, as a browser with files would: to files of that folder, and to places in
 * them. Owns what counts as a fault, and how it reads (`file: what: why`). Knows nothing of how the pages were made.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type Page, readPage } from './html.ts';

export interface CrawlOptions {
  /** From which every other page can be reached. */
  readonly start: string;
  /** Whether a page is a program whose address may hold this behind `#`; undefined: it is none. */
  readonly state?: (page: string, hash: string) => boolean | undefined;
  /** What no file may contain, for example the path of the machine on which they were made. */
  readonly unspeakable?: readonly string[];
}

export interface CrawlReport {
  readonly pages: number;
  readonly links: number;
  readonly faults: readonly string[];
}

/** Reads the whole folder. */
export function crawl(folder: string, options: CrawlOptions): CrawlReport {
  const files = new Set(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => posix.relative(folder, posix.join(entry.parentPath, entry.name))),
  );
  const pages = new Map(
    [...files]
      .filter((file) => PAGES.test(file))
      .map((file) => [file, readPage(file, readFileSync(join(folder, file), 'utf8'))]),
  );
  const faults: string[] = [];
  let links = 0;
  for (const [file, page] of pages) {
    links += page.references.length;
    for (const fault of [
      ...page.faults,
      ...page.references.flatMap((link) => faultOf(file, link, files, pages, options)),
    ])
      faults.push(`${file}: ${fault}`);
  }
  for (const orphan of unreached(pages, options.start)) faults.push(`${orphan}: no page leads to it`);
  for (const file of files)
    for (const words of options.unspeakable ?? [])
      if (readFileSync(join(folder, file), 'latin1').includes(words)) faults.push(`${file}: it says ${words}`);
  return { pages: [...pages.keys()].filter((file) => file.endsWith('.html')).length, links, faults };
}

type Reference = Page['references'][number];

function faultOf(
  from: string,
  { target, loads }: Reference,
  files: ReadonlySet<string>,
  pages: ReadonlyMap<string, Page>,
  { state }: CrawlOptions,
): string[] {
  const scheme = SCHEME.exec(target)?.[0].toLowerCase();
  if (scheme === 'data:') return loads ? [] : [`${target.slice(0, 40)}: nobody can follow it`];
  if (scheme !== undefined || target.startsWith('//')) {
    if (loads) return [`${target}: it is loaded from elsewhere`];
    return LINKABLE.has(scheme ?? '') ? [] : [`${target}: it leads to one machine, or nowhere`];
  }
  if (target.startsWith('/')) return [`${target}: it depends on where the site is`];
  const [address = '', hash] = target.split('#');
  const to = resolved(from, address);
  if (!files.has(to)) return [`${target}: there is no ${to}`];
  if (hash === undefined || hash === '') return [];
  const isState = state?.(to, hash);
  const isThere = isState ?? pages.get(to)?.ids.has(decoded(hash)) ?? false;
  return isThere ? [] : [`${target}: ${to} has no such place`];
}

/** Pages that the first one does not lead to, however many steps one takes. */
function unreached(pages: ReadonlyMap<string, Page>, start: string): string[] {
  const seen = new Set<string>();
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    for (const { target } of pages.get(at)?.references ?? [])
      if (!SCHEME.test(target)) open.push(resolved(at, target.split('#')[0] ?? ''));
  }
  return [...pages.keys()].filter((file) => file.endsWith('.html') && !seen.has(file));
}

/** The file that an address means. A folder is none: from a file, nobody puts index.html there. */
function resolved(from: string, address: string): string {
  const path = decoded(address.split('?')[0] ?? '');
  return path === '' ? from : posix.join(posix.dirname(from), path);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const LINKABLE: ReadonlySet<string> = new Set(['https:', 'http:', 'mailto:']);
const PAGES = /\.(?:html|svg|css)$/;
