/**
 * Goal: the site is one folder that works wherever it is put: as files, and below any path of a plain server; no link
 * of it is dead, nothing is fetched from elsewhere, nothing withheld is in it. Method: the site is built, without the
 * API, which takes a minute (site.long.test.ts); crawled; read; then visited in headless Chromium.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Analyzer, readCapture, SYMPTOMS } from 'rocev2/pcap';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LESSONS } from '../../../tools/explorer/lessons/index.ts';
import { parseLesson } from '../../../tools/explorer/playground/lesson.ts';
import { buildSite } from '../../../tools/site/build.ts';
import { checkSite } from '../../../tools/site/check.ts';
import { GUIDE_PAGES } from '../../../tools/site/guides.ts';
import { serveFolder } from '../../../tools/site/serve.ts';
import { filesBelow, leaksIn, phrasesOf } from '../../support/embargo.ts';
import { describeWith } from '../../support/need.ts';
import { excess, Visitor, violations } from './whole-site.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
// A blank and a letter beyond ASCII, as folders of people have them.
const folder = join(mkdtempSync(join(tmpdir(), 'roce-site-')), 'mein Gerät');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const lessons = LESSONS.map((lesson) => parseLesson(lesson));

beforeAll(() => buildSite(folder, { api: false }));
afterAll(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

describe('the site', () => {
  it('has no dead link, no page to which nothing leads, and no path of the machine that built it', () => {
    const { pages, links, faults } = checkSite(folder);
    expect(faults).toEqual([]);
    expect(pages).toBeGreaterThan(130);
    expect(links).toBeGreaterThan(2000);
  });

  it('notices a lesson that there is not', () => {
    const page = join(folder, 'docs/lessons.html');
    const whole = readFileSync(page, 'utf8');
    try {
      writeFileSync(page, whole.replace('lesson=one-send"', 'lesson=two-sends"'));
      expect(checkSite(folder).faults).toEqual([
        'docs/lessons.html: ../explorer/index.html#view=playground&lesson=two-sends: explorer/index.html has no such place',
      ]);
    } finally {
      writeFileSync(page, whole);
    }
  });

  it('notices the path of the machine that built it', () => {
    const planted = join(folder, 'planted.js');
    try {
      writeFileSync(planted, `file: "${ROOT}tools/a.tsx"`);
      expect(checkSite(folder).faults).toEqual([expect.stringContaining('planted.js: it says ')]);
    } finally {
      rmSync(planted);
    }
  });

  it('lists every page of docs/ among the guides', () => {
    const docs = ['docs', 'docs/reference'].flatMap((room) =>
      readdirSync(join(ROOT, room))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${room}/${name}`),
    );
    expect(docs.filter((page) => !GUIDE_PAGES.includes(page))).toEqual([]);
    for (const page of GUIDE_PAGES) expect(read(page.replace(/\.md$/, '.html'))).toContain('<h1 id=');
  });

  it('has a capture of each symptom in the explorer, in which the analyzer finds it', () => {
    const page = read('docs/symptoms.html');
    for (const { id } of SYMPTOMS) {
      const file = readFileSync(join(folder, `docs/symptoms/${id}.pcapng`));
      const analyzer = new Analyzer();
      for (const packet of readCapture(file)) analyzer.packet(packet);
      expect(analyzer.finish().findings.map((finding) => finding.id)).toContain(id);
      const inside = /id="capture" data-name="([^"]*)">([^<]*)</.exec(read(`explorer/${id}.html`));
      expect([inside?.[1], inside?.[2]]).toEqual([`${id}.pcapng`, file.toString('base64')]);
      expect(page).toContain(`<h2 id="${id}">${id}</h2>\n<p><a href="../explorer/${id}.html">`);
    }
  });

  it('opens the captures that a page links to in the explorer, too', () => {
    expect(read('docs/rxe-findings.html')).toContain('href="../explorer/LEN-01-short-first.html"');
    expect(read('explorer/LEN-01-short-first.html')).toContain('data-name="LEN-01-short-first.pcapng"');
  });

  it('starts each lesson from the page that has it as text', () => {
    const page = read('docs/lessons.html');
    for (const { id } of lessons)
      expect(page).toContain(`href="../explorer/index.html#view=playground&#38;lesson=${id}"`);
  });

  it('has one copy of the explorer, and its pages run no script and fetch no style but its own', () => {
    const files = filesBelow(folder);
    expect(files.filter((file) => file.endsWith('.js'))).toEqual(['explorer/explorer.js']);
    const plain = files.filter((file) => file.endsWith('.html') && !/^explorer\/|^annotated/.test(file));
    expect(plain.length).toBeGreaterThan(60);
    for (const file of plain) expect(read(file), file).not.toMatch(/<script|<style|javascript:|\son\w+=/);
  });

  it('says in three sentences what RDMA is, and has no link to an API that is not there', () => {
    const home = read('index.html');
    expect(home).toContain('RDMA lets a program read and write the memory of another machine');
    expect(home).not.toContain('api/');
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

describeWith('chromium', 'the site in Chromium', () => {
  describe.each(['as files', 'below a path of a server'])('%s', (how) => {
    let visitor: Visitor;
    let leave = (): Promise<void> => Promise.resolve();

    beforeAll(async () => {
      if (how === 'as files') {
        visitor = await Visitor.arrive(`${pathToFileURL(folder).href}/`);
        return;
      }
      const server = await serveFolder(folder, '/a/b/');
      leave = server.close;
      visitor = await Visitor.arrive(server.url);
    });
    afterAll(async () => {
      await visitor.close();
      await leave();
    });

    it('opens a sample from the front page, leads on to its symptom, and back home', async () => {
      const page = await visitor.open('index.html');
      await page.getByRole('link', { name: 'Look into a capture that went wrong' }).click();
      await page.getByTestId('file').getByText('sequence-error.pcapng').waitFor();
      const finding = page.getByTestId('finding').filter({ hasText: 'sequence-error' }).first();
      await finding.getByTestId('symptom').locator('summary').click();
      await finding.getByRole('link', { name: 'The page of this symptom' }).click();
      await page.locator('h2#sequence-error:target').waitFor();
      await page.locator('h2#sequence-error + p a').first().click();
      await page.getByTestId('file').getByText('sequence-error.pcapng').waitFor();
      await page.getByRole('tab', { name: 'Packets' }).click();
      await page.locator('#row-1').waitFor();
      await page.getByRole('link', { name: 'rocev2' }).click();
      await page.getByRole('heading', { name: 'What to do next' }).waitFor();
    });

    it('starts a lesson, and steps', async () => {
      const page = await visitor.open('docs/lessons.html');
      await page.locator('a[href$="lesson=lost-packet"]').click();
      await page.getByTestId('stop').getByText('Stop 1 of').waitFor();
      await page.keyboard.press('s');
      await page.keyboard.press('s');
      await expect.poll(() => page.getByTestId('where').textContent()).toContain('Step ');
      await page.getByTestId('play-ladder').locator('.flying').first().waitFor();
      await page.reload();
      await page.getByTestId('stop').waitFor();
    });

    it('offers samples where the explorer has no file', async () => {
      const page = await visitor.open('explorer/index.html');
      await page.getByRole('link', { name: 'sample captures' }).click();
      await page.getByRole('link', { name: 'PFC storm', exact: true }).click();
      await page.getByTestId('finding').filter({ hasText: 'pfc-storm' }).first().waitFor();
    });

    it('leads from a byte of the annotated connection to its rule', async () => {
      const page = await visitor.open('annotated.html');
      await page.locator('#p4 dl a:visible').first().click();
      await expect.poll(() => page.url()).toMatch(/docs\/reference\/wire\.html#\w+$/);
      await page.goBack();
      await page.getByRole('link', { name: 'rocev2', exact: true }).click();
      await page.getByRole('heading', { name: 'What to do next' }).waitFor();
    });

    it('complains of nothing, and asks nobody else', () => {
      expect([visitor.complaints, visitor.strangers]).toEqual([[], []]);
    });
  });

  it.each([
    { dark: true, width: 1280 },
    { dark: false, width: 390 },
  ])('gives axe nothing to find, dark: $dark, $width pixels wide', async ({ dark, width }) => {
    const visitor = await Visitor.arrive(`${pathToFileURL(folder).href}/`);
    try {
      for (const path of AUDITED) {
        const page = await visitor.open(path, { dark, width });
        expect(await violations(page), path).toEqual([]);
        await page.close();
      }
    } finally {
      await visitor.close();
    }
  });

  it('is no wider than a telephone on any page', async () => {
    const visitor = await Visitor.arrive(`${pathToFileURL(folder).href}/`);
    try {
      const page = await visitor.open('index.html', { width: 390 });
      const wide: string[] = [];
      for (const path of filesBelow(folder).filter((file) => file.endsWith('.html') && !file.startsWith('explorer/'))) {
        await page.goto(`${pathToFileURL(folder).href}/${path}`);
        if ((await excess(page)) > 0) wide.push(path);
      }
      expect(wide).toEqual([]);
    } finally {
      await visitor.close();
    }
  });
});

/** One of each kind. */
const AUDITED = ['index.html', 'guides.html', 'samples.html', 'docs/nvme.html', 'source/examples/echo.ts.html'];
