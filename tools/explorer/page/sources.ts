/**
 * Where a capture comes from when the page opens: inside the page itself, or from the server that sent it.
 *
 * Owns these two ways. Files that people pick or drop are the page's own business.
 */
import type { FileContent } from '../engine/protocol.ts';

/** A file that can be opened. */
export interface NamedFile {
  readonly name: string;
  readonly content: FileContent;
}

/** The file that came with the page or is named in its address; undefined without one. */
export function openGiven(): Promise<NamedFile> | undefined {
  const embedded = document.getElementById('capture');
  if (embedded !== null) return embeddedSource(embedded);
  const path = new URLSearchParams(location.search).get('file');
  return path === null ? undefined : served(path);
}

async function embeddedSource(element: HTMLElement): Promise<NamedFile> {
  const text = (element.textContent ?? '').trim();
  const bytes = new Uint8Array(
    Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0),
  );
  let at = 0;
  for (let from = 0; from < text.length; from += PIECE) {
    const piece = atob(text.slice(from, from + PIECE));
    for (let index = 0; index < piece.length; index++) bytes[at++] = piece.charCodeAt(index);
    // A large capture must not stop the page.
    if ((from / PIECE) % TURN === TURN - 1) await new Promise((resolve) => setTimeout(resolve));
  }
  return { name: element.dataset['name'] ?? 'capture', content: new Blob([bytes]) };
}

/** The worker reads it from there, a piece at a time. */
async function served(path: string): Promise<NamedFile> {
  const url = new URL(path, location.href);
  if (url.origin !== location.origin)
    throw new Error('a file is fetched from where the page comes, and from nowhere else');
  return { name: decodeURIComponent(url.pathname.split('/').at(-1) ?? path), content: url.href };
}

/** Characters at a time, a multiple of four. */
const PIECE = 65_536;
const TURN = 32;
