/**
 * Joins the compiled modules of `roce analyze`, its reading thread, and what both import of the library: some three
 * hundred files, which take longer to find and load than a small capture to analyze. Takes the folder of the compiled
 * tools; default: `dist`.
 *
 * Owns what is joined. What the program itself loads stays as it is, for its classes are to be the same ones here:
 * commander, the library's errors, and the rest of the tools.
 */
import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const tools = resolve(process.argv[2] ?? fileURLToPath(new URL('dist', import.meta.url)));
const folder = join(tools, 'analyze');
const libraryErrors = join('dist', 'packets', 'errors.js');

/** @type {import('esbuild').Plugin} */
const shared = {
  name: 'shared with the program',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) => (isJoined(path) ? undefined : { path, external: true }));
    // The library's own modules have no other way to its errors.
    onResolve({ filter: /\/errors\.js$/ }, ({ path, resolveDir }) =>
      resolve(resolveDir, path).endsWith(libraryErrors) ? { path: 'rocev2/errors', external: true } : undefined,
    );
    onResolve({ filter: /^\.\.\// }, ({ path, resolveDir }) =>
      `${resolveDir}${sep}`.startsWith(`${tools}${sep}`) ? { path, external: true } : undefined,
    );
  },
};

/** Of packages. Also ipaddr.js: it is CommonJS, whose exports Node takes a while to find. */
function isJoined(name) {
  return (name.startsWith('rocev2/') && name !== 'rocev2/errors') || name === 'ipaddr.js';
}

await build({
  // Whose names are in comments of what is built.
  absWorkingDir: tools,
  entryPoints: ['command.js', 'reading-thread.js'].map((name) => join(folder, name)),
  outdir: folder,
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  chunkNames: 'bundle-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // That of the clone leads to sources.
  tsconfigRaw: '{}',
  plugins: [shared],
  logLevel: 'warning',
});
