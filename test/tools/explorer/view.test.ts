/**
 * Goal: `roce view` serves the page and one file to whoever opens the printed address on this machine, and nothing to
 * anybody else; one HTML file can hold both; what is built is one file that needs neither Node nor the network. Method:
 * the server over HTTP, the command in a process of its own, the built page as text.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { explorerPage, pageWithCapture } from '../../../tools/explorer/page-file.ts';
import { type ExplorerHttpServer, serveExplorer } from '../../../tools/explorer/serve.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rocev2-view-'));
const servers: ExplorerHttpServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function serve(file?: string): Promise<ExplorerHttpServer> {
  const server = await serveExplorer('<p>page</p>', file);
  servers.push(server);
  return server;
}

/** Status and body, without following anything. */
async function get(
  url: string,
  { method = 'GET', ...headers }: { readonly method?: string; readonly host?: string; readonly range?: string } = {},
) {
  const asked = request(url, { method, headers });
  asked.end();
  const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { status: response.statusCode, body: Buffer.concat(pieces), headers: response.headers };
}

describe('serveExplorer', () => {
  it('serves the page and the file, and names the file in the address', async () => {
    const { url } = await serve(SAMPLE);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?file=%2Frxe-sample\.pcap$/);
    const page = await get(url);
    expect([page.status, page.body.toString()]).toEqual([200, '<p>page</p>']);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const path = new URL(url).searchParams.get('file') ?? '';
    const file = await get(new URL(path, url).href);
    expect(file.status).toBe(200);
    expect(file.body.equals(readFileSync(SAMPLE))).toBe(true);
  });

  it('serves any part of the file, and says how long it is', async () => {
    const { url } = await serve(SAMPLE);
    const whole = readFileSync(SAMPLE);
    const address = new URL('/rxe-sample.pcap', url).href;
    const head = await get(address, { method: 'HEAD' });
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([200, 0, `${whole.length}`]);
    const part = async (range: string) => await get(address, { range });
    const middle = await part('bytes=100-299');
    expect([middle.status, middle.headers['content-range']]).toEqual([206, `bytes 100-299/${whole.length}`]);
    expect(middle.body.equals(whole.subarray(100, 300))).toBe(true);
    expect((await part(`bytes=${whole.length - 5}-`)).body.equals(whole.subarray(-5))).toBe(true);
    expect((await part(`bytes=10-${2 * whole.length}`)).body.equals(whole.subarray(10))).toBe(true);
    for (const range of [`bytes=${whole.length}-`, 'bytes=9-8', 'bytes=-5', 'bytes=0-1,4-5', 'lines=1-2'])
      expect([range, (await part(range)).status]).toEqual([range, 416]);
  });

  it('serves files with any name', async () => {
    const file = join(folder, 'a b?#%&"é.pcap');
    writeFileSync(file, 'content');
    const { url } = await serve(file);
    const path = new URL(url).searchParams.get('file') ?? '';
    expect((await get(new URL(path, url).href)).body.toString()).toBe('content');
  });

  it('refuses other paths, other methods, and who calls it by another name', async () => {
    const { url } = await serve(SAMPLE);
    const { origin } = new URL(url);
    for (const path of ['/etc/passwd', '/..%2f..%2fetc%2fpasswd', '/../../etc/passwd', '/rxe-sample.pcap/', '//']) {
      expect([path, (await get(`${origin}${path}`)).status]).toEqual([path, 404]);
    }
    expect((await get(url, { method: 'POST' })).status).toBe(405);
    // A page of somebody else, whose name was made to point here.
    expect((await get(url, { host: 'evil.example' })).status).toBe(421);
    expect((await get(url, { host: `localhost:${new URL(url).port}` })).status).toBe(421);
  });

  it('answers 404 when the file has gone', async () => {
    const file = join(folder, 'gone.pcap');
    writeFileSync(file, 'x');
    const { url } = await serve(file);
    rmSync(file);
    expect((await get(new URL('/gone.pcap', url).href)).status).toBe(404);
    expect((await get(url)).status).toBe(200);
  });
});

describe('the built page', () => {
  it('is one file that loads nothing, and knows nothing of Node', async () => {
    const html = await explorerPage();
    expect(html).toMatch(/Content-Security-Policy" content="default-src 'none'/);
    // Markup that fetches; addresses in strings, such as the name space of SVG, fetch nothing.
    const markup = html.replace(/<script[^>]*>[\s\S]*?<\/script>/g, '').replace(/<style[^>]*>[\s\S]*?<\/style>/g, '');
    expect(markup).not.toMatch(/(?:src|href)="(?!data:)/);
    expect(html).not.toMatch(/<script[^>]* src=/);
    expect(html).not.toMatch(/from ?["']node:|require\(["']|import\(["']node:/);
    expect(html).not.toMatch(/@import|url\((?!["']?data:)/);
  });

  it('can carry a capture, whatever it is called', () => {
    const html = pageWithCapture('<body>x</body></html>', '</script>"<&', Uint8Array.of(1, 2, 3));
    expect(html).toContain('data-name="&#60;/script&#62;&#34;&#60;&#38;">AQID</script>\n</body>');
  });
});

describe('roce view', () => {
  function start(...args: readonly string[]) {
    const child = spawn(process.execPath, ['--import', 'tsx', 'tools/roce.ts', 'view', ...args], { cwd: ROOT });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }));
    return { child, ended };
  }

  it('prints its address, serves until it is interrupted, and ends in good order', async () => {
    const { child, ended } = start('--no-open', SAMPLE);
    const [line] = (await once(child.stdout, 'data')) as [string];
    const { status, body } = await get(line.trim());
    expect([status, body.includes('rocev2 explorer')]).toEqual([200, true]);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, err: '' });
  });

  it('writes one file instead', async () => {
    const out = join(folder, 'out.html');
    expect(await start('--html', out, SAMPLE).ended).toEqual({ code: 0, out: `${out}\n`, err: '' });
    expect(readFileSync(out, 'utf8')).toContain(readFileSync(SAMPLE).toString('base64'));
  });

  it('says what is wrong with a file in one line', async () => {
    const missing = await start('--no-open', join(folder, 'missing.pcap')).ended;
    expect(missing.code).not.toBe(0);
    expect(missing.err).toMatch(/^roce view: .*missing\.pcap.*\n$/);
    const directory = await start('--no-open', folder).ended;
    expect(directory.err).toMatch(/^roce view: .* is no file\n$/);
  });
});
