/**
 * A server for the page and one file, on the loopback interface only.
 *
 * Owns what it answers: the page, the file, nothing else. A request whose Host is not the announced name is refused, so
 * that a page of another site cannot read the file through a DNS name that points here.
 */
import { createReadStream } from 'node:fs';
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
    else if (file !== undefined && pathOf(request) === path) sendFile(response, file);
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

function sendFile(response: ServerResponse, file: string): void {
  const stream = createReadStream(file);
  stream.once('open', () => {
    response.writeHead(200, { ...HEADERS, 'content-type': 'application/octet-stream' });
    stream.pipe(response);
  });
  stream.once('error', () => {
    if (response.headersSent) response.destroy();
    else refuse(response, 404);
  });
  response.once('close', () => stream.destroy());
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain' });
  response.end(`${status}\n`);
}

const LOOPBACK = '127.0.0.1';
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
