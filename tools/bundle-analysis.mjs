/**
 * Makes one file of the analyzer, `dist/pcap/analysis/index.js`, which has more than a hundred: to find and open so
 * many takes longer than to compile them, each time that a program starts which analyzes. What lies outside of that
 * room stays where it is and is imported as before, so that nothing exists twice but the few files of the room that
 * others import.
 *
 * `node tools/bundle-analysis.mjs [dist]`. Plain JavaScript, as it runs in a build.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = resolve(process.argv[2] ?? join(root, 'dist'));
const room = join(dist, 'pcap', 'analysis');
const entry = join(room, 'index.js');
const IMPORT = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** Imports of what lies outside stay, as seen from the entry. */
const outside = {
  name: 'outside',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const file = resolve(resolveDir, path);
      if (isInRoom(file)) return { path: file };
      return { path: relative(room, file).split(sep).join('/'), external: true };
    });
  },
};

function isInRoom(file) {
  return file.startsWith(room + sep);
}

function programsBelow(folder) {
  const paths = readdirSync(folder, { recursive: true }).map((path) => join(folder, path));
  return paths.filter((path) => path.endsWith('.js'));
}

/** Of the room, what others import, and what that imports. */
function importedByOthers() {
  const wanted = new Set();
  const pending = programsBelow(dist).filter((file) => !isInRoom(file));
  while (pending.length > 0) {
    const file = pending.pop();
    for (const [, path] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const target = resolve(dirname(file), path);
      if (!isInRoom(target) || target === entry || wanted.has(target)) continue;
      wanted.add(target);
      pending.push(target);
    }
  }
  return wanted;
}

const wanted = importedByOthers();
const settings = { bundle: true, format: 'esm', target: 'es2022', platform: 'neutral', write: false };
const { outputFiles } = await build({ ...settings, entryPoints: [entry], plugins: [outside], logLevel: 'warning' });
for (const file of programsBelow(room)) if (!wanted.has(file)) rmSync(file);
writeFileSync(entry, outputFiles[0].text);
