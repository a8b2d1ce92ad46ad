/**
 * Where things are in the site. It mirrors the repository: a page of Markdown is at its own path with `.html`, a text
 * below `source/`, everything else where it was. Owns these names and the way from one of them to another.
 */
import { posix } from 'node:path';

/** Where a page of Markdown is in the site. */
export const pagePath = (markdown: string): string => markdown.replace(/\.md$/, '.html');

/** Where a text of the repository is shown. */
export const sourcePath = (file: string): string => `${SOURCE_FOLDER}/${file}.html`;

/** The explorer's page with a capture. @param name without an ending */
export const explorerPath = (name: string): string => `explorer/${name}.html`;

/** The explorer without a capture: it asks for one, and has the playground. */
export const EXPLORER = explorerPath('index');

/** The explorer's playground with a lesson. */
export const lessonHash = (id: string): string => `#view=playground&lesson=${id}`;

/** The way to a file, seen from a page: always relative, so that the site can be put anywhere. */
export const hrefTo = (from: string, to: string): string => encodeURI(posix.relative(posix.dirname(from), to));

/** The way from a page to the folder of the whole site: nothing, or so many `../`. */
export const siteBase = (from: string): string => '../'.repeat(from.split('/').length - 1);

/** Texts of the repository are below it. */
export const SOURCE_FOLDER = 'source';
