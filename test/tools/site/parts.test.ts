/**
 * Goal: the parts of the site that other programs make are taken as they are made, or refused; the server gives files
 * of its folder and of no other. Method: pages as vite and TypeDoc write them, in a few lines; requests.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { inHierarchy, withWayHome } from '../../../tools/site/api.ts';
import { explorerParts, explorerShell } from '../../../tools/site/explorer.ts';
import { hrefTo, siteBase } from '../../../tools/site/place.ts';
import { serveFolder } from '../../../tools/site/serve.ts';

const BUILT = `<!doctype html>
<html lang="en">
  <head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'">
    <script type="module" crossorigin>var a = "$&"; globalThis.seen = typeof top + a;</script>
    <style rel="stylesheet" crossorigin>b { color: red }</style>
  </head>
  <body></body>
</html>`;

describe('the explorer, taken apart', () => {
  const parts = explorerParts(BUILT);

  it('has its script and its style beside its pages, and may load them', () => {
    expect(parts.style).toBe('b { color: red }');
    expect(parts.shell).toContain('<script defer src="explorer.js"></script>');
    expect(parts.shell).toContain('<link rel="stylesheet" href="explorer.css">');
    expect(parts.shell).toContain("script-src 'self' blob:; style-src 'self' 'unsafe-inline'");
    expect(parts.shell).not.toContain('module');
  });

  it('leaves no name of its script to the page', () => {
    const page: Record<string, unknown> = {};
    runInNewContext(parts.script, page);
    expect(page).toEqual({ seen: 'undefined$&' });
  });

  it('knows where the site is, and has a capture where it is given one', () => {
    expect(explorerShell(parts, 'explorer/x.html')).toContain('<html lang="en" data-site="../">');
    expect(explorerShell(parts, 'explorer/x.html')).not.toContain('id="capture"');
    const shell = explorerShell(parts, 'explorer/x.html', { name: 'x<.pcap', bytes: Uint8Array.of(1, 2, 3) });
    expect(shell).toContain('id="capture" data-name="x&#60;.pcap">AQID</script>');
  });

  it.each(['type="module"', 'rel="stylesheet"', "'unsafe-inline' blob:"])('is refused without %s', (part) => {
    const other = BUILT.replace(part, '').replace('<style ', part.startsWith('rel') ? '<link ' : '<style ');
    expect(() => explorerParts(other)).toThrow('built otherwise');
  });
});

describe('pages of TypeDoc', () => {
  it('get a way home, by their depth', () => {
    const page = '<div id="tsd-toolbar-links"></div>';
    expect(withWayHome(page, 'api/index.html')).toBe(
      '<div id="tsd-toolbar-links"><a href="../index.html">the whole site</a></div>',
    );
    expect(withWayHome(page, 'api/classes/x.html')).toContain('href="../../index.html"');
  });

  it('are refused without a place for it', () => {
    expect(() => withWayHome('<p>', 'api/index.html')).toThrow('api/index.html has no place');
  });

  it('lead to no place of the hierarchy that it does not have', () => {
    const page = '<a href="../hierarchy.html#a.B">B</a><a href="../hierarchy.html#a.C">C</a>';
    expect(inHierarchy(page, new Set(['a.B']))).toBe(
      '<a href="../hierarchy.html#a.B">B</a><a href="../hierarchy.html">C</a>',
    );
  });

  it('lead to pages of the guides where they name them', () => {
    const page =
      '<div id="tsd-toolbar-links"></div><code>docs/errors.md</code> <code>docs/nothing.md</code> <code>embargo/README.md</code>';
    expect(withWayHome(page, 'api/index.html')).toContain(
      '<a href="../docs/errors.html"><code>docs/errors.md</code></a> <code>docs/nothing.md</code> <code>embargo/README.md</code>',
    );
  });
});

describe('ways between pages', () => {
  it('are relative, and spelled for an address', () => {
    expect(hrefTo('a/b/c.html', 'a/d e.html')).toBe('../d%20e.html');
    expect(hrefTo('a.html', 'a.html')).toBe('a.html');
    expect([siteBase('a.html'), siteBase('a/b/c.html')]).toEqual(['', '../../']);
  });
});

describe('the server', () => {
  it('gives the files of its folder below its path, and nothing else', async () => {
    const root = mkdtempSync(join(tmpdir(), 'roce-serve-'));
    mkdirSync(join(root, 'site'));
    writeFileSync(join(root, 'secret'), 'secret');
    writeFileSync(join(root, 'site/index.html'), 'home');
    writeFileSync(join(root, 'site/a b.css'), 'style');
    const server = await serveFolder(join(root, 'site'), '/a/b/');
    const { port } = new URL(server.url);
    // Paths as they stand: a browser would tidy them up first.
    const ask = (path: string, method = 'GET'): Promise<string> =>
      new Promise((resolve, reject) => {
        const asked = request({ port, host: '127.0.0.1', path, method }, (response) => {
          let body = '';
          response.on('data', (bytes) => {
            body += bytes;
          });
          response.on('end', () => resolve(`${response.statusCode} ${response.headers['content-type']} ${body}`));
        });
        asked.once('error', reject).end();
      });
    try {
      expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/b\/$/);
      expect(await ask('/a/b/')).toBe('200 text/html; charset=utf-8 home');
      expect(await ask('/a/b/index.html?x#y')).toContain('200');
      expect(await ask('/a/b/a%20b.css')).toBe('200 text/css; charset=utf-8 style');
      const refused = [
        '/',
        '/index.html',
        '/a/b',
        '/a/b/../../secret',
        '/a/b/../secret',
        '/a/b/%2e%2e/secret',
        '/a/b/%2e%2e%2fsecret',
      ];
      for (const path of [...refused, '/a/b//../../secret', '/a/b/%', '/a/b/%00', '/a/b/z.html', '/a/b/..%5csecret'])
        expect(await ask(path), path).toMatch(/^404 [^ ]+(; charset=utf-8)? $/);
      expect(await ask('/a/b/', 'POST')).toMatch(/^404/);
    } finally {
      await server.close();
      rmSync(root, { recursive: true });
    }
  });
});
