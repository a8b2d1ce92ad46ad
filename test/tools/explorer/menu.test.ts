/**
 * Goal: a field or a packet can be filtered by, left out, copied and saved where it stands, with the mouse and with the
 * keys. Method: headless Chromium drives the built page over a capture with losses; what was saved is read again.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { hashOf, useCapturePage } from './capture-page.ts';

describeWith('chromium', 'menus in Chromium', () => {
  const open = useCapturePage();
  const item = (page: Page, name: string) => page.getByRole('menuitem', { name, exact: true });
  const filterOf = (page: Page) => page.getByRole('combobox', { name: 'Filter' }).inputValue();

  it('filters by a field, further by another, and without a third', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    const field = (name: string) => page.locator('.field', { hasText: name });
    await field('infiniband.bth.destqp').click({ button: 'right' });
    await keepPicture(page, 'menu');
    await item(page, 'Only infiniband.bth.destqp == 0x208c2c').click();
    await page.getByText(/^\d+ of 174 packets/).waitFor();
    await field('infiniband.aeth.syndrome').click({ button: 'right' });
    await item(page, 'And infiniband.aeth.syndrome == 0x60').click();
    await page.getByText('2 of 174 packets').waitFor();
    await field('infiniband.bth.psn').click({ button: 'right' });
    await item(page, 'Without infiniband.bth.psn == 6762649').click();
    await page.getByText('1 of 174 packets').waitFor();
    expect(await filterOf(page)).toBe(
      'infiniband.bth.destqp == 0x208c2c and infiniband.aeth.syndrome == 0x60 and not (infiniband.bth.psn == 6762649)',
    );
  });

  it('filters by a cell and by the conversation of a packet', async () => {
    const page = await open({ hash: 'view=packets' });
    await page.locator('#row-15 .info').click({ button: 'right' });
    await item(page, 'Without stream 1').click();
    await page.getByText(/^\d of 174 packets/).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.locator('#row-15 .ends').click({ button: 'right' });
    await item(page, 'Only src host 10.0.0.1 and dst host 10.0.0.2').click();
    await expect.poll(() => hashOf(page).get('filter')).toBe('src host 10.0.0.1 and dst host 10.0.0.2');
    await expect.poll(() => page.getByTestId('fault').count()).toBe(0);
  });

  it('opens and closes with keys, and gives the focus back', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    const field = page.locator('.field', { hasText: 'infiniband.bth.psn' });
    await field.focus();
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toMatch(/^Without /);
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement.className')).toMatch(/^field/);
    await page.getByTestId('list').focus();
    await page.keyboard.press('ContextMenu');
    await item(page, 'Only stream 1').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => filterOf(page)).toBe('infiniband.bth.opcode == 0x11');
  });

  it('copies values', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.field', { hasText: 'ip.src' }).waitFor({ state: 'attached' });
    await page.locator('.field', { hasText: 'infiniband.bth.psn' }).click({ button: 'right' });
    await item(page, 'Copy the value').click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('6762649');
    await page.locator('#row-15 .info').click({ button: 'right' });
    await item(page, 'Copy the line').click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toMatch(/^15\t0\.0000\d+\t10\.0\.0\.1 > /);
  });

  it('saves the packets that are shown, or one, as pcapng', async () => {
    const page = await open({ hash: 'view=packets&filter=nak' });
    await page.getByText('2 of 174 packets').waitFor();
    const saved = async (click: () => Promise<void>) => {
      const [download] = await Promise.all([page.waitForEvent('download'), click()]);
      return [download.suggestedFilename(), [...readCapture(readFileSync(await download.path()))].length];
    };
    const all = await saved(() => page.getByRole('button', { name: 'Save pcapng' }).click());
    expect(all).toEqual(['lossy-filtered.pcapng', 2]);
    await page.locator('#row-16 .number').click({ button: 'right' });
    expect(await saved(() => item(page, 'Save packet 16 as pcapng').click())).toEqual(['lossy-packet-16.pcapng', 1]);
  });
});
