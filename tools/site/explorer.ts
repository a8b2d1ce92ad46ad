/**
 * The explorer within the site: its script and its style once, and a small page for each capture. A page from a file
 * may fetch nothing, but may name a script beside it; hence the captures are inside of the pages.
 *
 * Owns the taking apart of the built page, and these small pages.
 */
import { pageWithCapture } from '../explorer/page-file.ts';
import { siteBase } from './place.ts';

/** What all pages of the explorer share. */
export interface ExplorerParts {
  readonly script: string;
  readonly style: string;
  /** The page without both, which asks for them beside itself. */
  readonly shell: string;
}

/** @param html the explorer as `roce view` has it: one file. @throws Error when it is built otherwise than expected */
export function explorerParts(html: string): ExplorerParts {
  const [scriptTag = '', script = ''] = /<script type="module"[^>]*>([\s\S]*?)<\/script>/.exec(html) ?? [];
  const [styleTag = '', style = ''] = /<style\b[^>]*>([\s\S]*?)<\/style>/.exec(html) ?? [];
  if (script === '' || style === '' || !html.includes(INLINE_ONLY))
    throw new Error('the explorer is built otherwise: its script, its style or its policy is not where it was');
  const shell = html
    .replace(scriptTag, () => `<script defer src="${SCRIPT}"></script>`)
    .replace(styleTag, () => `<link rel="stylesheet" href="${STYLE}">`)
    .replace(INLINE_ONLY, "script-src 'self' blob:")
    .replace("style-src 'unsafe-inline'", "style-src 'self' 'unsafe-inline'");
  // A module may not be loaded from a file; as a plain script it must not leave its names to the page.
  return { script: `(() => {\n${script}\n})();\n`, style, shell };
}

/** The page at a place of the site. @param capture the file that it opens */
export function explorerShell(
  { shell }: ExplorerParts,
  path: string,
  capture?: { readonly name: string; readonly bytes: Uint8Array },
): string {
  const page = shell.replace('<html lang="en">', `<html lang="en" data-site="${siteBase(path)}">`);
  return capture === undefined ? page : pageWithCapture(page, capture.name, capture.bytes);
}

export const SCRIPT = 'explorer.js';
export const STYLE = 'explorer.css';
const INLINE_ONLY = "script-src 'unsafe-inline' blob:";
