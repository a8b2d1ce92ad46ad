/**
 * Goal: the list of packets has the columns that one chooses, as wide and in the order that one wishes, and on a
 * telephone the addresses too. Method: headless Chromium drives the built page over a capture with losses.
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { hashOf, isInSight, useCapturePage } from './capture-page.ts';

describeWith('chromium', 'the columns of the list in Chromium', () => {
  const open = useCapturePage();
  const cells = (page: Page, name: string) => page.locator(`.list .row .${name}`).allTextContents();
  const head = (page: Page, name: string) => page.getByRole('columnheader', { name });

  it('sorts by a column, up, down and not at all, and keeps the chosen packet in sight', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    await page.locator('#row-16.selected').waitFor();
    await page.getByRole('button', { name: 'Bytes', exact: true }).click();
    await expect.poll(() => head(page, 'Bytes').getAttribute('aria-sort')).toBe('ascending');
    await expect.poll(() => isInSight(page.locator('#row-16.selected'))).toBe(true);
    await page.getByRole('button', { name: 'Bytes', exact: true }).click();
    await expect.poll(() => hashOf(page).get('sort')).toBe('-length');
    await page.getByTestId('list').focus();
    await page.keyboard.press('Home');
    await page.locator('.row[aria-rowindex="2"].selected').waitFor();
    await expect.poll(async () => (await cells(page, 'length'))[0]).toBe('1098');
    await page.keyboard.press('j');
    await page.locator('.row[aria-rowindex="3"].selected').waitFor();
    await page.reload();
    await expect.poll(() => head(page, 'Bytes').getAttribute('aria-sort')).toBe('descending');
    await page.locator('.row[aria-rowindex="3"].selected').waitFor();
    await page.getByRole('button', { name: 'Bytes', exact: true }).click();
    await expect.poll(() => hashOf(page).get('sort')).toBe(null);
  });

  it('shows the columns that are chosen, and remembers them', async () => {
    const page = await open({ hash: 'view=packets' });
    await page.getByText('Columns', { exact: true }).click();
    await page.getByLabel('Since', { exact: true }).check();
    await page.getByLabel('PSN', { exact: true }).check();
    await page.getByLabel('Conv', { exact: true }).uncheck();
    const heads = ['No.', 'Time, s', 'Since', 'From > to', 'Bytes', 'PSN', 'What it is'];
    await expect.poll(() => page.getByRole('columnheader').allTextContents()).toEqual(heads);
    await expect.poll(async () => (await cells(page, 'psn')).includes('6762641')).toBe(true);
    await expect.poll(async () => (await cells(page, 'delta')).includes('866 ns')).toBe(true);
    await keepPicture(page, 'columns');
    await page.reload();
    await expect.poll(() => page.getByRole('columnheader').allTextContents()).toEqual(heads);
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('button', { name: 'As at first' }).click();
    await expect.poll(() => page.getByRole('columnheader').count()).toBe(6);
  });

  it('makes a column wider with the mouse and with the keys', async () => {
    const page = await open({ hash: 'view=packets' });
    const wide = async () => (await page.locator('.row .ends').first().boundingBox())?.width;
    await expect.poll(wide).toBe(210);
    const edge = page.getByRole('separator', { name: 'Width of From > to' });
    const at = await edge.boundingBox();
    await page.mouse.move((at?.x ?? 0) + 4, (at?.y ?? 0) + 8);
    await page.mouse.down();
    await page.mouse.move((at?.x ?? 0) + 64, (at?.y ?? 0) + 8);
    await page.mouse.up();
    await expect.poll(wide).toBe(270);
    await edge.focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(wide).toBe(262);
    await edge.dblclick();
    await expect.poll(wide).toBe(210);
  });

  it.each([false, true])('has two lines for a packet on a telephone, addresses included; dark: %s', async (dark) => {
    const page = await open({ width: 390, height: 780, dark, hash: 'view=packets&packet=16' });
    const row = page.locator('#row-16.selected');
    await row.waitFor();
    await expect.poll(() => isInSight(row.locator('.ends'))).toBe(true);
    expect(await row.locator('.ends').textContent()).toBe('10.0.0.2 > 10.0.0.1');
    expect(await row.locator('.time').textContent()).toBe('0.000025360');
    await expect.poll(() => page.evaluate(CUT)).toEqual([]);
    const above = await row.locator('.ends').boundingBox();
    expect((await row.locator('.info').boundingBox())?.y).toBeGreaterThan(above?.y ?? 0);
    await expect.poll(() => page.evaluate('document.querySelector(".app").scrollWidth')).toBe(390);
    await keepPicture(page, `narrow-packet-lines-${dark ? 'dark' : 'light'}`);
  });
});

/** In the page: cells of the chosen line that are cut, but for what it is. */
const CUT = `[...document.querySelectorAll('#row-16 .cell:not(.info)')]
  .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.className)`;
