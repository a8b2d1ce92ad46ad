/**
 * A server of the plainest kind, for a folder of files below a path of its own, on the loopback interface: what any
 * static host does. Owns the answer to a request.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';

export interface FolderServer {
  /** Of the folder; ends with a slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** @param below where the folder is put, for example `/a/b/` */
export async function serveFolder(folder: string, below = '/', port = 0): Promise<FolderServer> {
  const server = createServer(async ({ method, url = '/' }, response) => {
    const path = fileOf(url, below);
    const bytes =
      path === undefined || method !== 'GET' ? undefined : await readFile(join(folder, path)).catch(() => undefined);
    response.writeHead(bytes === undefined ? 404 : 200, {
      'content-type': TYPES[extname(path ?? '')] ?? 'application/octet-stream',
    });
    response.end(bytes);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const { port: chosen } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${chosen}${below}`,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}

/** The path below the folder; undefined for what is not below it. */
function fileOf(url: string, below: string): string | undefined {
  try {
    const path = posix.normalize(decodeURIComponent(url.split('?')[0] ?? '/'));
    if (!path.startsWith(below) || path.includes('\0')) return undefined;
    return `${path.slice(below.length)}${path.endsWith('/') ? 'index.html' : ''}`;
  } catch {
    return undefined;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
