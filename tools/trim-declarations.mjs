/**
 * Takes out of `dist/` what nobody can see of declarations. Those that no entry of the library leads to: `exports` lets
 * nobody import those files, so that no compiler ever reads them; they are half of all. And the comment at the head of
 * a file, which says to its maintainers what the file owns: an editor shows the comments of names only.
 * Plain JavaScript, as it runs in a build.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const RELATIVE_IMPORT = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** A comment at the head that is not that of a name: an import, a re-export or another comment follows. */
const HEAD = /^\s*\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*(?=import\b|\/\*\*|export (?:type )?[{*])/;

/** Every declaration file that an entry names, at any depth of its conditions. */
function declarationsIn(value) {
  if (typeof value === 'string') return value.endsWith('.d.ts') ? [resolve(root, value)] : [];
  return Object.values(value).flatMap(declarationsIn);
}

const wanted = new Set();
const pending = declarationsIn(exports);
while (pending.length > 0) {
  const file = pending.pop();
  if (wanted.has(file)) continue;
  wanted.add(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(RELATIVE_IMPORT)) {
    const target = resolve(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'));
    // Words of a comment may look like an import.
    if (existsSync(target)) pending.push(target);
  }
}
for (const path of readdirSync(dist, { recursive: true })) {
  const file = join(dist, path);
  if (!file.endsWith('.d.ts')) continue;
  if (!wanted.has(file)) {
    rmSync(file);
    continue;
  }
  const text = readFileSync(file, 'utf8');
  const [head = ''] = HEAD.exec(text) ?? [];
  // That of an entry is its documentation.
  if (head !== '' && !head.includes('@module')) writeFileSync(file, text.slice(head.length));
}
