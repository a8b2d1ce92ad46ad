/**
 * A server for the page and one file, on the loopback interface only.
 *
 * Owns what it answers: the page, the file, whole or a part of it, nothing else. A request whose Host is not the
 * announced name is refused, so that a page of another site cannot read the file through a DNS name that points here.
 */
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';

/** A server that runs. */
export interface ExplorerHttpServer {
  /** Where the page is; with a file, the page opens it. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `html`, and `file` where there is one; on a port that the system chooses unless one is given. */
export async function serveExplorer(html: string, file?: string, port = 0): Promise<ExplorerHttpServer> {
  const path = file === undefined ? undefined : `/${encodeURIComponent(basename(file))}`;
  let host = '';
  const server = createServer((request, response) => {
    if (request.headers.host !== host) refuse(response, 421);
    else if (request.method !== 'GET' && request.method !== 'HEAD') refuse(response, 405);
    else if (pathOf(request) === '/') sendPage(response, html);
    else if (file !== undefined && pathOf(request) === path) sendFile(request, response, file);
    else refuse(response, 404);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, resolve);
  });
  host = `${LOOPBACK}:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/${path === undefined ? '' : `?file=${encodeURIComponent(path)}`}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/';
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/html; charset=utf-8' });
  response.end(html);
}

function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  const part = size === undefined ? undefined : partOf(headers.range, size);
  if (size === undefined || part === undefined) {
    refuse(response, size === undefined ? 404 : 416);
    return;
  }
  const { from, to } = part;
  const about = {
    ...HEADERS,
    'content-type': 'application/octet-stream',
    'content-length': to - from,
    'accept-ranges': 'bytes',
    ...(headers.range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
  };
  const status = headers.range === undefined ? 200 : 206;
  if (method === 'HEAD' || from === to) {
    response.writeHead(status, about);
    response.end();
    return;
  }
  const stream = createReadStream(file, { start: from, end: to - 1, highWaterMark: PIECE_BYTES });
  stream.once('open', () => {
    response.writeHead(status, about);
    stream.pipe(response);
  });
  stream.once('error', () => {
    if (response.headersSent) response.destroy();
    else refuse(response, 404);
  });
  response.once('close', () => stream.destroy());
}

/** What of a file is asked for, from a place to before another; undefined for what is not there. */
function partOf(range: string | undefined, size: number): { readonly from: number; readonly to: number } | undefined {
  if (range === undefined) return { from: 0, to: size };
  const [, first, last] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(range) ?? [];
  const from = Number(first);
  const to = last === '' ? size : Math.min(size, Number(last) + 1);
  return from < to ? { from, to } : undefined;
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain' });
  response.end(`${status}\n`);
}

const PIECE_BYTES = 1024 * 1024;
const LOOPBACK = '127.0.0.1';
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
