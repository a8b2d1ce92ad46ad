/**
 * What the repository holds: every file that git does not ignore, with its text where it is one. In a clone that is
 * what is tracked; elsewhere also what is new, so that its faults show before it is committed.
 * Owns the list and the reading; what the texts say is for `markdown.ts` and `references.ts`. Needs no git.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Texts by path from the root, with slashes; undefined for a file that is no text. */
export type Repository = ReadonlyMap<string, string | undefined>;

/** Reads all of it. */
export function readRepository(): Repository {
  const isIgnored = ignoredBy(readFileSync(join(ROOT, '.gitignore'), 'utf8'));
  const files = new Map<string, string | undefined>();
  const enter = (folder: string): void => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.name === '.git' || isIgnored(path)) continue;
      if (entry.isDirectory()) enter(path);
      else if (entry.isFile()) files.set(path, readText(path));
    }
  };
  enter('');
  return files;
}

/**
 * Whether a path is ignored, by the text of a .gitignore: names and paths of folders and files, `*`, `**` in front of a
 * slash, and `!` for what is not ignored after all. The last rule that fits decides. Ask for a folder before what is in
 * it.
 */
export function ignoredBy(gitignore: string): (path: string) => boolean {
  const rules = gitignore
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const pattern = line.replace(/^!/, '').replace(/\/$/, '');
      const words = pattern.replace(/^\//, '').replace(/[.+^${}()|[\]\\]/g, '\\$&');
      const body = words.replaceAll('**/', '\0').replaceAll('*', '[^/]*').replaceAll('\0', '(?:.*/)?');
      return { ignores: !line.startsWith('!'), fits: new RegExp(`${pattern.includes('/') ? '^' : '(?:^|/)'}${body}$`) };
    });
  return (path) => rules.findLast(({ fits }) => fits.test(path))?.ignores ?? false;
}

function readText(path: string): string | undefined {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return text.includes('\0') ? undefined : text;
}
