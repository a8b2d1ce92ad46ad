/**
 * Pages of the explorer with one capture, for tests in a real browser: one browser for a test file, a fresh page for
 * each test, and what one reads off a page.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { ExplorerBrowser, type PageOptions } from './browser.ts';
import { lossyCapture } from './lossy-capture.ts';

/** Opens a page. */
export type OpenPage = (options?: PageOptions) => Promise<Page>;

/**
 * Makes the browser of a `describe`; gives what opens a page, on which the capture is read. Pages must complain of
 * nothing and ask nobody.
 */
export function useCapturePage(make: () => Promise<Uint8Array> = lossyCapture): OpenPage {
  let folder = '';
  let browser: ExplorerBrowser | undefined;
  const pages: Page[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rocev2-explorer-'));
    writeFileSync(join(folder, 'lossy.pcapng'), await make());
    browser = await ExplorerBrowser.start(join(folder, 'lossy.pcapng'));
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
    expect(browser?.complaints).toEqual([]);
    expect(browser?.strangers).toEqual([]);
  });
  return async (options = {}) => {
    if (browser === undefined) throw new Error('the browser has not started');
    const page = await browser.open(options);
    pages.push(page);
    await page
      .getByTestId('file')
      .getByText(/, [\d,]+ packets/)
      .waitFor();
    return page;
  };
}

/** What the address of a page says. */
export function hashOf(page: Page): URLSearchParams {
  return new URLSearchParams(new URL(page.url()).hash.slice(1));
}

/** Whether all of it is within the window, and within whatever scrolls around it. */
export function isInSight(what: Locator): Promise<boolean> {
  return what.evaluate(inPage<boolean>(IN_SIGHT));
}

/** A function of an element that runs in the page; tests know no DOM. */
export function inPage<Result>(body: string): (element: unknown) => Result {
  return new Function('element', body) as (element: unknown) => Result;
}

const IN_SIGHT = `
  const { top, bottom, left, right } = element.getBoundingClientRect();
  for (let box = element.parentElement; box !== null; box = box.parentElement) {
    const room = box.getBoundingClientRect();
    const scrolls = getComputedStyle(box).overflowY !== 'visible';
    if (scrolls && (top < room.top - 1 || bottom > room.bottom + 1)) return false;
  }
  return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth;
`;
