/**
 * Goal: the annotated connection explains every byte of a real exchange, truly, and loads nothing. Method: the page is
 * read as text against the capture; then opened from a file in headless Chromium, wide and on a telephone, with axe.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { connectionPage } from '../../../tools/annotated/connection.ts';
import { describeWith } from '../../support/need.ts';
import { launchChromium } from '../explorer/browser.ts';

const REFERENCE = fileURLToPath(new URL('../../../docs/reference/', import.meta.url));
const HTML = connectionPage('docs/reference/');
const FRAMES = HTML.split('<section ').slice(1);

describe('the annotated connection', () => {
  it('tells of ten packets, from the request to the end', () => {
    expect([...HTML.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, title]) => title)).toEqual([
      '1. client asks for a connection',
      '2. server accepts',
      '3. client is ready',
      '4. client sends: RC SEND Only',
      '5. server acknowledges',
      '6. server sends: RC SEND Only',
      '7. client acknowledges',
      '8. server wants to end it',
      '9. client wants to end it',
      '10. server agrees',
    ]);
    expect(FRAMES[0]).toContain('to begin, 8358143;');
    expect(FRAMES[5]).toContain('It carries PSN 8358143,');
  });

  it('has a field for every byte, and says in words what each field means', () => {
    for (const frame of FRAMES) {
      const size = Number(/, (\d+) bytes<\/p>/.exec(frame)?.[1]);
      const owners = [...frame.matchAll(/<span data-f="([^"]*)">[0-9a-f]{2}<\/span>/g)].map(([, ids = '']) => ids);
      expect(owners).toHaveLength(size);
      const fields = new Set([...frame.matchAll(/<div id="(\w+)" tabindex="0">/g)].map(([, id]) => id));
      for (const ids of owners) for (const id of ids.split(' ')) expect(fields).toContain(id);
      for (const [, meaning = ''] of frame.matchAll(/<dd><code class="value">[^<]*<\/code> ([^<]*)/g))
        expect(meaning.trim()).not.toBe('');
    }
  });

  it('names sources that there are, and loads nothing', () => {
    const links = [...HTML.matchAll(/href="docs\/reference\/(\w+\.md)#([\w-]+)"/g)];
    expect(links.length).toBeGreaterThan(100);
    for (const [, page = '', anchor = ''] of links)
      expect(readFileSync(join(REFERENCE, page), 'utf8')).toMatch(
        new RegExp(`name="${anchor}"|id="${anchor}"|^## ${anchor}\\b`, 'm'),
      );
    expect(HTML).not.toMatch(/\bsrc=|<link|@import|url\(|https?:/);
  });
});

describeWith('chromium', 'the annotated connection in Chromium', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-annotated-'));
  const file = join(directory, 'page.html');
  writeFileSync(file, HTML);
  afterAll(() => rmSync(directory, { recursive: true }));

  it.each([
    [1280, false],
    [390, true],
  ])(
    'lights up a byte with its fields, is no wider than %i pixels, and axe finds nothing, dark: %s',
    async (width, dark) => {
      const browser = await launchChromium();
      try {
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light' });
        const complaints: string[] = [];
        page.on('pageerror', (error) => complaints.push(error.message));
        await page.goto(`file://${file}`);
        const psn = page.locator('#p4 dl > div', { hasText: 'infiniband.bth.psn' });
        await psn.focus();
        expect(await page.locator('#p4 .bytes .lit').allTextContents()).toEqual(['ca', '36', '00']);
        await page.locator('#p4 .bytes span').nth(43).hover();
        expect(await page.locator('#p4 dl > div.lit').count()).toBeGreaterThan(1);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
        expect(
          await page.evaluate(
            'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].html))',
          ),
        ).toEqual([]);
        expect(complaints).toEqual([]);
      } finally {
        await browser.close();
      }
    },
  );
});
