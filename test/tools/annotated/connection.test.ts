/**
 * Goal: the annotated connection explains every byte of a real exchange, truly, and loads nothing. Method: the page is
 * read as text against the capture; then opened from a file in headless Chromium, wide and on a telephone, with axe.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { connectionPage } from '../../../tools/annotated/connection.ts';
import { describeWith } from '../../support/need.ts';
import { launchChromium } from '../explorer/browser.ts';

const REFERENCE = fileURLToPath(new URL('../../../docs/reference/', import.meta.url));
const HTML = connectionPage({ reference: (page, section) => `docs/reference/${page}.md#${section}` });
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
      const fields = new Set([...frame.matchAll(/<div id="(\w+)">/g)].map(([, id]) => id));
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
    expect(HTML).not.toMatch(/\bsrc=|<link(?! rel="icon" href="data:,">)|@import|url\(|https?:/);
  });

  it('leads where its owner says, and home where it has one', () => {
    expect(HTML).not.toContain('<header>');
    const moved = connectionPage({
      reference: (page, section) => `x/${page}.html#${section}`,
      home: { name: 'the <site>', href: 'index.html' },
    });
    expect(moved).toContain('<a href="index.html">the &#60;site&#62;</a>');
    expect(moved).toMatch(/href="x\/wire\.html#\w+"/);
    expect(moved).not.toContain('.md');
  });
});

describeWith('chromium', 'the annotated connection in Chromium', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-annotated-'));
  const file = join(directory, 'page.html');
  writeFileSync(file, HTML);
  afterAll(() => rmSync(directory, { recursive: true }));

  async function opened(width: number, dark: boolean, look: (page: Page) => Promise<void>): Promise<void> {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light' });
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(`file://${file}`);
      await look(page);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  }

  it.each([
    [1280, true],
    [390, false],
  ])('lights up a byte with its fields, is no wider than %i pixels, and axe finds nothing, dark: %s', (width, dark) =>
    opened(width, dark, async (page) => {
      const psn = page.locator('#p4 dl > div', { hasText: 'infiniband.bth.psn' });
      await psn.focus();
      expect(await page.locator('#p4 .bytes .lit').allTextContents()).toEqual(['ca', '36', '00']);
      await page.locator('#p4 .bytes span').nth(43).hover();
      expect(await page.locator('#p4 dl > div.lit').count()).toBeGreaterThan(1);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
      expect(
        await page.evaluate(
          'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].html))',
        ),
      ).toEqual([]);
    }),
  );

  it('is walked by keys: one stop for the fields of a packet, arrows between them, folded ones left out', () =>
    opened(1280, false, async (page) => {
      const place = (): Promise<string> => page.evaluate('document.activeElement.closest("dl > div")?.id ?? ""');
      // Of each packet: what folds its headers, one field, and maybe that field's link.
      expect(
        await page.evaluate(`[...document.querySelectorAll('.frame')].map((frame) =>
        [...frame.querySelectorAll('[tabindex="0"]')].filter((one) => one.matches('div')).length)`),
      ).toEqual(Array.from({ length: 10 }, () => 1));
      await page.locator('#p4 summary', { hasText: 'BTH' }).focus();
      await page.keyboard.press('Tab');
      expect(await place()).toBe('p4h3f0');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      expect(await place()).toBe('p4h3f2');
      expect(await page.locator('#p4h3f2').getAttribute('class')).toBe('lit');
      await page.keyboard.press('ArrowUp');
      expect(await place()).toBe('p4h3f1');
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowUp');
      expect(await place()).toBe('p4h3f0');
      await page.keyboard.press('End');
      await page.keyboard.press('ArrowDown');
      const last: string = await page.evaluate('[...document.querySelectorAll("#p4 dl > div")].at(-1).id');
      expect(await place()).toBe(last);
      await page.locator('#p4 summary').first().click();
      await page.locator('#p4h3f0').focus();
      await page.keyboard.press('ArrowUp');
      expect(await place()).toMatch(/^p4h0f/);
      // Folded again, the field one was at is no stop any more; another one is.
      await page.locator('#p4 summary').first().click();
      // The browser tells that something is folded a little later.
      await page.locator('#p4h3f0[tabindex="0"]').waitFor({ state: 'attached' });
      expect(await page.locator('#p4 dl > div[tabindex="0"]').count()).toBe(1);
    }));
});
