/**
 * Goal: a capture of a gigabyte opens in a real browser: its first packets are there before it is analyzed, its last
 * can be chosen, a filter finds what is in it, and memory is bounded. Method: Chromium over the server of `roce view`;
 * the file is ten captures one after the other, and the answers are those of the reader.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { transfersCapture } from '../../../tools/bench/transfers-capture.ts';
import { describeWith } from '../../support/need.ts';
import { ExplorerBrowser, keepPicture } from './browser.ts';

const SECTIONS = 10;
const ROUNDS = 1_000;
const MEBIBYTE = 1024 ** 2;
/** Opening, analysis and each answer may take as long as a busy machine needs. */
const PATIENCE_MS = 600_000;

describeWith('chromium', 'a capture of a gigabyte in the explorer', () => {
  let folder = '';
  let file = '';
  let packets = 0;
  let browser: ExplorerBrowser;
  let page: Page;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rocev2-large-'));
    file = join(folder, 'large.pcapng');
    writeFileSync(file, '');
    for (let section = 0; section < SECTIONS; section++) {
      const bytes = await transfersCapture(ROUNDS, section + 1);
      appendFileSync(file, bytes);
      for (const _ of readCapture(bytes)) packets++;
    }
    browser = await ExplorerBrowser.start(file);
  }, PATIENCE_MS);

  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
    expect(browser.complaints).toEqual([]);
    expect(browser.strangers).toEqual([]);
  });

  it(
    'is shown before it is analyzed, and then counted whole',
    async () => {
      expect(statSync(file).size).toBeGreaterThan(1e9);
      page = await browser.open({ hash: 'view=packets' });
      page.setDefaultTimeout(PATIENCE_MS);
      await page.locator('#row-1').waitFor();
      expect(await page.locator('.progress').count()).toBe(1);
      await page.locator('.progress').waitFor({ state: 'detached' });
      await page
        .getByTestId('file')
        .getByText(`, ${packets.toLocaleString('en')} packets`)
        .waitFor();
    },
    PATIENCE_MS,
  );

  it(
    'shows its last packet, byte by byte',
    async () => {
      const last = page.locator(`#row-${packets}`);
      // A key that comes while the page still takes in the whole count goes to the end that it knew.
      const atEnd = async () => {
        await page.keyboard.press('End');
        return last.count();
      };
      await expect.poll(atEnd, { timeout: PATIENCE_MS, interval: 500 }).toBe(1);
      await last.click();
      await page.getByRole('heading', { name: new RegExp(`^Packet ${packets}`) }).waitFor();
      await page.locator('.byte').first().waitFor();
      await keepPicture(page, 'gigabyte');
    },
    PATIENCE_MS,
  );

  it(
    'answers a filter of what the analysis knows and one of bytes',
    async () => {
      const counted = async (filter: string) => {
        await page.locator('#filter').fill(filter);
        await page.locator('#filter').press('Enter');
        const shown = await page.getByTestId('shown').filter({ hasText: / of / }).textContent();
        await page.getByRole('button', { name: 'Clear', exact: true }).click();
        await page.getByTestId('shown').filter({ hasNotText: / of / }).waitFor();
        return Number(/([\d,]+) of/.exec(shown ?? '')?.[1]?.replaceAll(',', ''));
      };
      // A NAK for each of the packets that were lost: one of 500 of the WRITEs' middle packets, in each section.
      const naks = await counted('nak');
      expect(naks).toBeGreaterThan(SECTIONS);
      expect(naks).toBe(await counted('syndrome 0x60'));
    },
    PATIENCE_MS,
  );

  it('takes less than half a GiB of the browser beside the bytes of the file, which it may keep', async () => {
    // A page and its worker are one process, by far the largest.
    const pids = await browser.processes();
    const besideMebibytes = (Math.max(...pids.map(mostBytes)) - statSync(file).size) / MEBIBYTE;
    expect(besideMebibytes).toBeGreaterThan(0);
    expect(besideMebibytes).toBeLessThan(512);
  });
});

/** The most memory that a process had so far; 0 of one that has ended. */
function mostBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
