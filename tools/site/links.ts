/**
 * Where the links of the repository's pages lead in the site. Owns that question, and the list of what the site needs
 * because somebody links to it: more pages, texts, pictures, captures. Nothing that is withheld is ever on it.
 */
import { existsSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXPLORER, explorerPath, hrefTo, pagePath, sourcePath } from './place.ts';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What the site has because it is linked, by path in the repository. */
export class Links {
  /** Pages of Markdown, in the order in which they were found. */
  readonly pages = new Set<string>();
  /** Texts to be shown. */
  readonly texts = new Set<string>();
  /** Files that are copied as they are. */
  readonly files = new Set<string>();
  /** Captures, which are copied and opened in the explorer, by the name of their page there. */
  readonly captures = new Map<string, string>();
  readonly #root: string;

  constructor(pages: Iterable<string> = [], root = ROOT) {
    this.#root = root;
    for (const page of pages) this.pages.add(page);
  }

  /**
   * Where a link leads, seen from the page that is made of `from`. @returns undefined for what is not published
   * @throws Error when there is no such file
   */
  href(from: string, target: string): string | undefined {
    if (SCHEME.test(target) || target.startsWith('#')) return target;
    const [path = '', anchor] = target.split('#');
    const file = this.#fileOf(posix.join(posix.dirname(from), decodeURI(path)));
    if (isWithheld(file)) return undefined;
    if (file.startsWith('../') || !existsSync(join(this.#root, file)))
      throw new Error(`${from}: ${target}: there is no ${file}`);
    return `${hrefTo(pagePath(from), this.#place(file))}${anchor === undefined ? '' : `#${anchor}`}`;
  }

  /** A second link behind one to a capture: it opens in the explorer. */
  openInExplorer(from: string, target: string): string {
    const file = posix.join(posix.dirname(from), target);
    if (!CAPTURE.test(target) || isWithheld(file)) return '';
    return ` (<a href="${hrefTo(pagePath(from), explorerPath(captureName(file)))}" aria-label="${captureName(file)} in the explorer">explorer</a>)`;
  }

  /** A folder is its README. */
  #fileOf(path: string): string {
    const clean = path.replace(/\/$/, '');
    const isFolder = statSync(join(this.#root, clean), { throwIfNoEntry: false })?.isDirectory() === true;
    return isFolder ? posix.join(clean, 'README.md') : clean;
  }

  #place(file: string): string {
    if (file.endsWith('.md')) {
      this.pages.add(file);
      return pagePath(file);
    }
    if (CAPTURE.test(file)) {
      const other = this.captures.get(captureName(file));
      if (other !== undefined && other !== file)
        throw new Error(`${file} and ${other} are the same page of the explorer`);
      this.captures.set(captureName(file), file);
    } else if (!PICTURE.test(file)) {
      this.texts.add(file);
      return sourcePath(file);
    }
    this.files.add(file);
    return file;
  }
}

/** Findings that are not published: SECURITY.md. */
export const isWithheld = (file: string): boolean => /(?:^|\/)embargo(?:\/|$)/.test(file);

/** What the pages quote of the explorer's addresses, as a link: `#view=playground&lesson=...`. */
export function explorerHref(from: string, code: string): string | undefined {
  return /^#view=[\w&=-]+$/.test(code) ? `${hrefTo(pagePath(from), EXPLORER)}${code}` : undefined;
}

function captureName(file: string): string {
  return posix.basename(file).replace(CAPTURE, '');
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const CAPTURE = /\.pcap(?:ng)?$/;
const PICTURE = /\.(?:svg|png)$/;
