/**
 * Pages of the playground for tests in a real browser: one browser for a test file, a fresh page for each test, and
 * what one reads off a page.
 */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { encodeLink, parseScenario } from '../../../../tools/explorer/playground/index.ts';
import { ExplorerBrowser, type PageOptions } from '../browser.ts';

/** The hash of a session. */
export function hashOf(scenario: object, position = 0): string {
  return encodeLink({ scenario: parseScenario(scenario), position }).slice(1);
}

/** A WRITE of four packets, nothing done yet. */
export const WRITE = hashOf({ operations: [{ kind: 'write', bytes: 4096 }] });

/**
 * Makes the browser of a `describe`; gives what opens a page with the playground on it. Pages must complain of nothing
 * and ask nobody.
 */
export function usePlayground(): (options?: PageOptions) => Promise<Page> {
  let browser: ExplorerBrowser | undefined;
  const pages: Page[] = [];
  beforeAll(async () => {
    browser = await ExplorerBrowser.start();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    expect(browser?.complaints).toEqual([]);
    expect(browser?.strangers).toEqual([]);
  });
  return async (options = {}) => {
    if (browser === undefined) throw new Error('the browser has not started');
    const page = await browser.open({ hash: WRITE, ...options });
    pages.push(page);
    await page.getByTestId('playground').waitFor();
    return page;
  };
}

/** The ladder in words, a line for each packet. */
export function rungs(page: Page): Promise<string[]> {
  return page.getByTestId('rungs').locator('li').allTextContents();
}

/** "Step 4 at 2.6 us". */
export function where(page: Page): Promise<string | null> {
  return page.getByTestId('where').textContent();
}

/** Runs to the end. */
export async function runToEnd(page: Page): Promise<void> {
  await page.keyboard.press('r');
  await page.getByTestId('where').getByText('nothing more happens').waitFor();
}
