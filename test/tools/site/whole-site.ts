/** What is true of the site whether it has the pages of the API or not, and a visitor with a real browser. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../explorer/browser.ts';

/** Pages of a site at one address; what they complain about, and whom else they ask, is kept. */
export class Visitor {
  readonly complaints: string[] = [];
  readonly strangers: string[] = [];
  readonly #browser: Browser;
  readonly #base: string;

  private constructor(browser: Browser, base: string) {
    this.#browser = browser;
    this.#base = base;
  }

  /** @param base address of the folder, with a slash at its end */
  static async arrive(base: string): Promise<Visitor> {
    return new Visitor(await launchChromium(), base);
  }

  /** @param path within the site */
  async open(path: string, { width = 1280, dark = false } = {}): Promise<Page> {
    const page = await this.#browser.newPage({
      viewport: { width, height: 800 },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    });
    page.setDefaultTimeout(30_000);
    page.on('pageerror', (error) => this.complaints.push(`${page.url()}: ${error.message}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(`${page.url()}: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (![this.#base, 'blob:', 'data:'].some((own) => request.url().startsWith(own)))
        this.strangers.push(request.url());
    });
    await page.goto(`${this.#base}${path}`);
    return page;
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

/** How much wider than its window a page is, in pixels. */
export const excess = (page: Page): Promise<number> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)');

/** Each rule of accessibility that is broken, with the elements that break it. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
