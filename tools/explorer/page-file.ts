/**
 * Where the built page is: shipped beside this file in a package, built when stale in a clone.
 *
 * Owns that question, and putting a capture inside the page.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';

/**
 * The page as HTML. In a clone it is built first when a source is newer. @throws RoceError ERR_ROCE_UNSUPPORTED when
 * there is none
 */
export async function explorerPage(): Promise<string> {
  if (!isClone()) {
    if (existsSync(SHIPPED)) return readFileSync(SHIPPED, 'utf8');
    throw new RoceError('ERR_ROCE_UNSUPPORTED', `this installation lacks the page of the explorer, ${SHIPPED}`);
  }
  if (isStale(BUILT)) {
    const { buildExplorer } = await import('./build.ts');
    await buildExplorer(BUILT);
  }
  return readFileSync(BUILT, 'utf8');
}

/** The page with a file inside, which needs no server: `name` is shown, `bytes` are its content. */
export function pageWithCapture(html: string, name: string, bytes: Uint8Array): string {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  const element = `<script type="application/octet-stream" id="capture" data-name="${escaped(name)}">${content}</script>`;
  const at = html.lastIndexOf('</body>');
  return `${html.slice(0, at)}${element}\n${html.slice(at)}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** TypeScript beside this file: nothing is compiled. */
function isClone(): boolean {
  return import.meta.url.endsWith('.ts');
}

function isStale(file: string): boolean {
  if (!existsSync(file)) return true;
  const built = statSync(file).mtimeMs;
  return SOURCES.some((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' }).some((name) => {
      const entry = statSync(join(ROOT, room, name), { throwIfNoEntry: false });
      return entry?.isFile() === true && entry.mtimeMs > built;
    }),
  );
}

/** In a clone: the root of it. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Not in `dist`, which `npm run build` empties, be it while a test or a server reads the page. */
const BUILT = join(ROOT, 'node_modules/.cache/rocev2/explorer.html');
const SHIPPED = fileURLToPath(new URL('./explorer.html', import.meta.url));
/** Whatever may end up in the page. */
const SOURCES = ['packets', 'transport', 'pcap', 'src', 'tools/explorer', 'tools/analyze'];
