/**
 * Goal: the whole site, the pages of the API included, has no dead link and works as files. Method: `buildSite` as
 * `npm run site` calls it; the crawler; a visit to the API in headless Chromium. What the rest holds is in
 * site.test.ts.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSite } from '../../../tools/site/build.ts';
import { checkSite } from '../../../tools/site/check.ts';
import { filesBelow, leaksIn, phrasesOf } from '../../support/embargo.ts';
import { describeWith } from '../../support/need.ts';
import { Visitor } from './whole-site.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'roce-site-'));

beforeAll(() => buildSite(folder, { api: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the whole site', () => {
  it('has no dead link, and no page to which nothing leads', () => {
    const { pages, faults } = checkSite(folder);
    expect(faults).toEqual([]);
    expect(pages).toBeGreaterThan(1500);
  });

  it('leads to the API from every page, and from there home, and to the sources', () => {
    expect(readFileSync(join(folder, 'docs/symptoms.html'), 'utf8')).toContain('<a href="../api/index.html">API</a>');
    expect(readFileSync(join(folder, 'api/index.html'), 'utf8')).toContain(
      '<a href="../index.html">the whole site</a>',
    );
    const world = readFileSync(join(folder, 'api/classes/rocev2.World.html'), 'utf8');
    expect(world).toContain('<a href="../../index.html">the whole site</a>');
    expect(world).toMatch(/href="\.\.\/\.\.\/source\/src\/sim\/[\w-]+\.ts\.html#L\d+"/);
  });

  it('holds nothing that is withheld', () => {
    const words = join(ROOT, 'embargo/words.txt');
    // A checkout without that folder has no list, and nothing that could leak.
    const phrases = existsSync(words) ? phrasesOf(readFileSync(words, 'utf8')) : [];
    const files = filesBelow(folder);
    expect(files.filter((file) => file.includes('embargo'))).toEqual([]);
    expect(leaksIn(folder, files, phrases)).toEqual([]);
  });
});

describeWith('chromium', 'the whole site in Chromium', () => {
  it('finds a name of the API, shows its source, and leads home, as files', async () => {
    const visitor = await Visitor.arrive(`${pathToFileURL(folder).href}/`);
    try {
      const page = await visitor.open('index.html');
      await page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'API' }).click();
      await page.locator('.tsd-typography').getByRole('link', { name: 'queue pair' }).click();
      await page.getByRole('heading', { name: /Interface RdmaQp/ }).waitFor();
      // From a file, Chromium refuses TypeDoc's icons, and says so; TypeDoc has put copies into the page for that case.
      const icons: string[] = await page.evaluate(
        `[...document.querySelectorAll('use')].map((one) => one.getAttribute('href'))`,
      );
      expect(icons.filter((icon) => !icon.startsWith('#icon-'))).toEqual([]);
      expect(icons.length).toBeGreaterThan(10);
      await page.locator('a[href*="/source/"]').first().click();
      await page.locator('.source span:target').waitFor();
      await page.goBack();
      await page.getByRole('link', { name: 'the whole site' }).click();
      await page.getByRole('heading', { name: 'What to do next' }).waitFor();
      const others = visitor.complaints.filter((complaint) => !complaint.includes('/api/assets/icons.svg#icon-'));
      expect([others, visitor.strangers]).toEqual([[], []]);
    } finally {
      await visitor.close();
    }
  });
});
