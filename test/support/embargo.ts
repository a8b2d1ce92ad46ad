/**
 * Phrases that must not be published, and where they occur. Owns how text is compared. A phrase of several words is
 * compared by letters and digits alone, so that no line break, punctuation, capital or markup hides it, and neither
 * does base64. A name, which has no blank, keeps its punctuation: `a-b` is not in `a b`.
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
  const readings = readingsOf(text);
  const sentences = readings.map(plain).join('\n');
  const names = readings.map(nameable).join('\n');
  return phrases.filter((phrase) =>
    /\s/.test(phrase) ? sentences.includes(plain(phrase)) : names.includes(nameable(phrase)),
  );
}

/** `file: phrase` for every phrase in every file, its name included. */
export const leaksIn = (root: string, files: readonly string[], phrases: readonly string[]): string[] =>
  files.flatMap((file) =>
    phrasesIn(`${file}\n${readFileSync(join(root, file), 'latin1')}`, phrases).map((phrase) => `${file}: ${phrase}`),
  );

/** All files below a folder, but those of folders that are left out: by a name, or by a path with a slash. */
export function filesBelow(root: string, leftOut: ReadonlySet<string> = new Set(), folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    const isOut = leftOut.has(entry.name) || leftOut.has(`/${path}`);
    return entry.isDirectory() && !isOut ? filesBelow(root, leftOut, path) : [];
  });
}

/** The text as it stands, without the tags of HTML, and what its runs of base64 say. */
function readingsOf(text: string): string[] {
  const decoded = withoutEscapes(text);
  const hidden = [...text.matchAll(/[\w+/-]{24,}/g)].map(([run]) => Buffer.from(run, 'base64').toString('latin1'));
  return [decoded, decoded.replace(/<\/?[a-z][^<>]*>/gi, ''), hidden.join('\n')];
}

/** With the characters that JSON and HTML may write as escapes. */
function withoutEscapes(text: string): string {
  return text
    .replace(/\\u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/\\[nrt]/g, ' ')
    .replace(/&#(?:x([0-9a-f]+)|(\d+));/gi, (_, hex?: string, decimal?: string) =>
      String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    )
    .replace(/&(nbsp|gt|lt|amp|quot);/g, (_, name: string) => CHARACTERS[name] ?? ' ');
}

const CHARACTERS: Readonly<Record<string, string>> = { gt: '>', lt: '<', amp: '&', quot: '"' };

/** In lower case, without the backslashes of Markdown and the zeros of characters of two bytes. */
const nameable = (text: string): string => text.toLowerCase().replace(/[\\\0]/g, '');

/** Letters and digits alone, in lower case. */
const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '');
