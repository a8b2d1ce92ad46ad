/**
 * Phrases that must not be published, and where they occur. Owns how text is compared: a line break, a backslash or a
 * capital hides nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The phrases of a list: one a line, `#` begins a comment. */
export const phrasesOf = (list: string): string[] =>
  list
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Those of the phrases that the text holds. */
export function phrasesIn(text: string, phrases: readonly string[]): string[] {
  const plain = flattened(text);
  return phrases.filter((phrase) => plain.includes(flattened(phrase)));
}

/** `file: phrase` for every phrase in every file. */
export const leaksIn = (root: string, files: readonly string[], phrases: readonly string[]): string[] =>
  files.flatMap((file) =>
    phrasesIn(readFileSync(join(root, file), 'latin1'), phrases).map((phrase) => `${file}: ${phrase}`),
  );

/** All files below a folder, but those of folders that are left out by name. */
export function filesBelow(root: string, leftOut: ReadonlySet<string> = new Set(), folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && !leftOut.has(entry.name) ? filesBelow(root, leftOut, path) : [];
  });
}

/** Comments that continue, joined strings and Markdown's escapes are one text. */
const flattened = (text: string): string =>
  text
    .toLowerCase()
    .replace(/['"`] \+\s+['"`]/g, '')
    .replace(/\n\s*(?:\*|\/\/|#)\s+/g, ' ')
    .replace(/\\/g, '')
    .replace(/\s+/g, ' ');
