/**
 * Builds the explorer: one HTML file with script, style and worker inside, which asks the network for nothing.
 *
 * Owns the build steps. Only a clone can run them (vite is a development dependency); the package ships the result.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Builds the page and writes it to `outFile`, in one step, so that a reader never sees half of it. */
export async function buildExplorer(outFile: string): Promise<void> {
  const [{ build }, { viteSingleFile }] = await Promise.all([import('vite'), import('vite-plugin-singlefile')]);
  mkdirSync(dirname(outFile), { recursive: true });
  const outDir = mkdtempSync(join(dirname(outFile), '.explorer-'));
  try {
    await build({
      configFile: false,
      root: PAGE,
      logLevel: 'error',
      plugins: [viteSingleFile()],
      resolve: { tsconfigPaths: true },
      // Whatever NODE_ENV says: for development, elements know the path of their source.
      oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
      build: { outDir, emptyOutDir: true, target: 'es2024' },
    });
    writeFileSync(join(outDir, 'explorer.html'), withPolicy(readFileSync(join(outDir, 'index.html'), 'utf8')));
    renameSync(join(outDir, 'explorer.html'), outFile);
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}

/** The page may fetch from where it comes, which is how it gets its file, and from nowhere else. */
function withPolicy(html: string): string {
  return html.replace('<head>', `<head>\n<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
}

const PAGE = fileURLToPath(new URL('./page', import.meta.url));
const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' blob:",
  'worker-src blob: data:',
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');
