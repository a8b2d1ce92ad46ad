/**
 * The site: one folder of static files that can be put anywhere, or opened as files. Owns what is in it; how each part
 * looks is its own file's business.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connectionPage } from '../annotated/connection.ts';
import { explorerPage } from '../explorer/page-file.ts';
import { writeApi } from './api.ts';
import { STYLE as EXPLORER_STYLE, explorerParts, explorerShell, SCRIPT } from './explorer.ts';
import { GUIDE_PAGES, guidesPage } from './guides.ts';
import { homePage } from './home.ts';
import { explorerHref, isWithheld, Links, ROOT } from './links.ts';
import { renderMarkdown } from './markdown.ts';
import { EXPLORER, explorerPath, hrefTo, pagePath } from './place.ts';
import { sampleLinks, samplePath, samplesPage, symptomSamples } from './samples.ts';
import { sourcePage } from './source-page.ts';
import { STYLE } from './style.ts';
import { ANNOTATED, type Content, framed, HOME, STYLE_SHEET } from './template.ts';

export interface SiteOptions {
  /** With the pages of the API, which take TypeDoc a minute. */
  readonly api: boolean;
}

/** Writes the site into a folder, which is emptied first. */
export async function buildSite(folder: string, { api }: SiteOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const links = new Links(GUIDE_PAGES);
  const apiSources = api ? await writeApi(folder) : new Set<string>();
  const write = (path: string, content: string | Uint8Array): void => {
    if (isWithheld(path)) throw new Error(`${path} is not published`);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  const show = (content: Content): void => write(content.path, framed(content, api));

  write(STYLE_SHEET, STYLE);
  write(ANNOTATED, annotated());
  show(homePage(api));
  show(guidesPage(writeMarkdown(links, show)));
  for (const file of [...links.texts, ...apiSources]) show(sourcePage(file, readFileSync(join(ROOT, file), 'utf8')));
  for (const file of links.files) write(file, readFileSync(join(ROOT, file)));
  await writeExplorer(links, write, show);
}

/** Every page, those included that others lead to. @returns titles by path in the repository */
function writeMarkdown(links: Links, show: (content: Content) => void): Map<string, string> {
  const titles = new Map<string, string>();
  // Pages that are found on the way join the set, and the loop.
  for (const file of links.pages) {
    const path = pagePath(file);
    const { title, html } = renderMarkdown(readFileSync(join(ROOT, file), 'utf8'), {
      href: (target) => links.href(file, target),
      afterLink: (target) => links.openInExplorer(file, target),
      codeHref: (code) => explorerHref(file, code),
      ...(file === SYMPTOMS ? { afterSection: (id: string) => sampleLinks(id, path) } : {}),
    });
    titles.set(file, title);
    show({ path, title, html });
  }
  return titles;
}

async function writeExplorer(
  links: Links,
  write: (path: string, content: string | Uint8Array) => void,
  show: (content: Content) => void,
): Promise<void> {
  const parts = explorerParts(await explorerPage());
  write(join(dirname(EXPLORER), SCRIPT), parts.script);
  write(join(dirname(EXPLORER), EXPLORER_STYLE), parts.style);
  write(EXPLORER, explorerShell(parts, EXPLORER));
  const samples = await symptomSamples();
  show(samplesPage(samples));
  for (const { id, bytes } of samples) {
    write(samplePath(id), bytes);
    write(explorerPath(id), explorerShell(parts, explorerPath(id), { name: `${id}.pcapng`, bytes }));
  }
  for (const [name, file] of links.captures) {
    const capture = { name: file.replace(/^.*\//, ''), bytes: readFileSync(join(ROOT, file)) };
    write(explorerPath(name), explorerShell(parts, explorerPath(name), capture));
  }
}

function annotated(): string {
  return connectionPage({
    reference: (page, section) => `${hrefTo(ANNOTATED, pagePath(`docs/reference/${page}.md`))}#${section}`,
    home: { name: 'rocev2', href: hrefTo(ANNOTATED, HOME) },
  });
}

const SYMPTOMS = 'docs/symptoms.md';
