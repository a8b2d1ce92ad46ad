/**
 * Goal: all views show the same piece of time, which is chosen once, in a strip above them, with the mouse or the keys;
 * charts say what they show in units that fit, and no legend is empty. Method: headless Chromium drives the built page
 * over a capture with losses, whose packets lie at the beginning and the end of 17 milliseconds.
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { hashOf, useCapturePage } from './capture-page.ts';

describeWith('chromium', 'the time of all views in Chromium', () => {
  const open = useCapturePage();

  async function draw(page: Page, from: number, to: number): Promise<void> {
    const strip = page.locator('.time-strip');
    await strip.locator('.time-sent').waitFor();
    const { x = 0, y = 0, width = 0 } = (await strip.boundingBox()) ?? {};
    await page.mouse.move(x + from * width, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + to * width, y + 10);
    await page.mouse.up();
  }

  it('is drawn out of the strip, holds in every view, and is given back by a click', async () => {
    const page = await open({ hash: 'view=packets' });
    await draw(page, 0.5, 0.99);
    await page.getByText(/^\d+ of 174 packets/).waitFor();
    const first = page.locator('.row[aria-rowindex="2"] .time');
    await expect.poll(() => first.textContent()).toMatch(/^0\.01[67]/);
    const time = hashOf(page).get('time');
    expect(time).toMatch(/^\d+-\d+$/);
    await keepPicture(page, 'time-packets');
    await page.keyboard.press('4');
    await page.getByText(/^\d+ packets of this PSN space/).waitFor();
    await expect
      .poll(async () => Number((await page.getByText(/of this PSN space/).textContent())?.split(' ')[0]))
      .toBeLessThan(169);
    await page.keyboard.press('5');
    await expect.poll(() => page.getByTestId('rates').textContent()).toMatch(/time8\.\d+ ms to 17\.\d+ ms/);
    expect(hashOf(page).get('time')).toBe(time);
    await page.reload();
    await page
      .getByTestId('time-shown')
      .getByText(/^8\.\d+ ms to 17\.\d ms/)
      .waitFor();
    await page.keyboard.press('2');
    await draw(page, 0.3, 0.3);
    await page.getByText(/^174 packets/).waitFor();
    expect(hashOf(page).get('time')).toBe(null);
  });

  it('is moved by the keys', async () => {
    const page = await open({ hash: 'view=packets' });
    const from = page.getByRole('slider', { name: 'Shown from' });
    await from.focus();
    await page.keyboard.press('Shift+ArrowRight');
    await expect.poll(() => from.getAttribute('aria-valuetext')).toMatch(/^1\.7\d ms$/);
    await page.getByText(/^\d+ of 174 packets/).waitFor();
    await page.getByRole('button', { name: 'All time' }).click();
    await page.getByText(/^174 packets/).waitFor();
  });

  it('is together with a filter', async () => {
    const page = await open({ hash: 'view=packets&filter=nak&time=0-30000' });
    await page.getByText('1 of 174 packets').waitFor();
    await page.locator('#row-16').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText(/^\d\d of 174 packets/).waitFor();
  });

  it('says which packets are under the mouse in the graph of PSNs', async () => {
    const page = await open({ hash: 'view=sequence&time=0-90000&packet=16' });
    const plot = page.locator('.u-over');
    await plot.waitFor();
    const { x = 0, y = 0, width = 0, height = 0 } = (await plot.boundingBox()) ?? {};
    const at = async (across: number, up: number) => {
      await page.mouse.move(x + across * width, y + (1 - up) * height);
      return page
        .getByTestId('tip')
        .textContent({ timeout: 500 })
        .catch(() => '');
    };
    // Packet 16, at 25.4 of 90 microseconds: PSN 9, of some 55, with room below and above.
    await expect.poll(() => at(25.36 / 90, 0.18)).toMatch(/^packet 16, NAK, PSN 9, at 25\.4 us$/);
    await keepPicture(page, 'sequence-tip');
    await expect.poll(() => at(0.9, 0.1)).toBe('');
  });

  it('has legends that say something before the mouse is there, and the value under it', async () => {
    const page = await open({ hash: 'view=rates' });
    const legend = page.locator('.lane').first().locator('.u-legend');
    await legend
      .getByText(/^up to \d/)
      .first()
      .waitFor();
    await expect.poll(() => legend.locator('.u-value').allTextContents()).not.toContain('--');
    const { x = 0, y = 0, width = 0, height = 0 } = (await page.locator('.u-over').first().boundingBox()) ?? {};
    await page.mouse.move(x + width / 2, y + height / 2);
    await legend.getByText('0 b/s').first().waitFor();
    await keepPicture(page, 'rates-hover');
  });
});
