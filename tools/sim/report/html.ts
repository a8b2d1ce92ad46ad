/**
 * A report as one HTML file that needs nothing else: text and tables as HTML, plots as data that the page draws with
 * uPlot. Owns the page; every text in it is escaped, and its policy lets no script run but its own and nothing be
 * fetched.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Plot } from './plot.ts';

export interface Report {
  readonly title: string;
  readonly sections: readonly Section[];
  /** Beside the plots: what made this file. */
  readonly footer: string;
}

export type Section =
  | { readonly kind: 'text'; readonly heading?: string; readonly paragraphs: readonly string[] }
  | { readonly kind: 'code'; readonly heading: string; readonly text: string; readonly folded?: boolean }
  | { readonly kind: 'table'; readonly heading: string; readonly about?: string; readonly table: ReportTable }
  | { readonly kind: 'plots'; readonly heading: string; readonly plots: readonly Plot[] };

export interface ReportTable {
  readonly headings: readonly string[];
  /** Columns of numbers stand to the right. */
  readonly numbers: readonly boolean[];
  readonly rows: readonly (readonly TableCell[])[];
}

export type TableCell = string | { readonly text: string; readonly verdict: 'pass' | 'fail' };

export function reportHtml({ title, sections, footer }: Report): string {
  const plots: Plot[] = [];
  const body = sections.map((section) => sectionHtml(section, plots)).join('\n');
  const { script, style } = chartLibrary();
  const page = own('page.js');
  const css = `${style}\n${own('page.css')}`;
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)} ${hashOf(page)}`,
    `style-src ${hashOf(css)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${css}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${body}
<p class="quiet">${escapeHtml(footer)}</p>
<script type="application/json" id="data">${jsonForHtml({ plots })}</script>
<script>${script}</script>
<script type="module">${page}</script>
</body>
</html>
`;
}

/** Text as HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** JSON that no parser of HTML reads as anything else. */
export function jsonForHtml(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function sectionHtml(section: Section, plots: Plot[]): string {
  const heading = section.heading === undefined ? '' : `<h2>${escapeHtml(section.heading)}</h2>\n`;
  switch (section.kind) {
    case 'text':
      return heading + section.paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n');
    case 'code':
      return codeHtml(section);
    case 'table':
      return `${heading}${section.about === undefined ? '' : `<p class="quiet">${escapeHtml(section.about)}</p>\n`}${tableHtml(section.table)}`;
    case 'plots':
      return `${heading}<div class="plots">\n${section.plots.map((plot) => plotHtml(plot, plots.push(plot) - 1)).join('\n')}\n</div>`;
    default:
      return unknownSection(section);
  }
}

function unknownSection(section: never): never {
  throw new TypeError(`no section ${String(section)}`);
}

function codeHtml({ heading, text, folded }: Section & { kind: 'code' }): string {
  const pre = `<pre>${escapeHtml(text)}</pre>`;
  if (folded === true) return `<details>\n<summary>${escapeHtml(heading)}</summary>\n${pre}\n</details>`;
  return `<h2>${escapeHtml(heading)}</h2>\n${pre}`;
}

function tableHtml({ headings, numbers, rows }: ReportTable): string {
  const side = (column: number): string => (numbers[column] === true ? ' class="number"' : '');
  const sideOf = (cell: TableCell, column: number): string =>
    typeof cell === 'string' && cell.length > LONG ? ' class="long"' : side(column);
  const head = headings.map((text, column) => `<th scope="col"${side(column)}>${escapeHtml(text)}</th>`).join('');
  const body = rows.map(
    (row) => `<tr>${row.map((cell, column) => `<td${sideOf(cell, column)}>${cellHtml(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="wide"><table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body.join('\n')}\n</tbody>\n</table></div>`;
}

function cellHtml(cell: TableCell): string {
  return typeof cell === 'string' ? escapeHtml(cell) : `<span class="${cell.verdict}">${escapeHtml(cell.text)}</span>`;
}

function plotHtml({ title, about }: Plot, index: number): string {
  return `<figure class="plot"><figcaption>${escapeHtml(title)}<span>${escapeHtml(about)}</span></figcaption><div data-plot="${index}" role="img" aria-label="${escapeHtml(title)}"></div></figure>`;
}

/** uPlot as it is installed, its notice in front. */
function chartLibrary(): { readonly script: string; readonly style: string } {
  const require = createRequire(import.meta.url);
  const read = (name: string): string => readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8');
  // A script ends where HTML sees its end tag, quoted or not; the library has none, and this keeps it so.
  const script = read('uPlot.iife.min.js').replaceAll('</script', '<\\/script');
  return { script, style: read('uPlot.min.css').trim() };
}

function own(name: string): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** Texts that may go over several lines. */
const LONG = 40;
