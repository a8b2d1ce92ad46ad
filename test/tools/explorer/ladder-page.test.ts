/**
 * Goal: the ladder on the page is true to time: arrows slope, silence is folded and says how long it was, the scale
 * changes around what is in the middle; colours have a legend; equal rows are a choice. Method: headless Chromium
 * drives the built page over a capture with losses.
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { hashOf, inPage, isInSight, useCapturePage } from './capture-page.ts';

const SLOPE = 'const line = element.querySelector(".arrow"); return line.y2.baseVal.value - line.y1.baseVal.value;';

describeWith('chromium', 'the ladder in Chromium', () => {
  const open = useCapturePage();
  const slopeOf = (page: Page, number: number) =>
    page.locator(`.rung[data-number="${number}"]`).evaluate(inPage<number>(SLOPE));

  it('has arrows that slope as long as they are on the way, and the same for all', async () => {
    const page = await open({ hash: 'view=ladder&conversation=1&packet=16' });
    await page.locator('.rung.selected[data-number="16"]').waitFor();
    await page.getByText(/^Slope: on the way at most 3\.\d+ us/).waitFor();
    const slope = await slopeOf(page, 16);
    expect(slope).toBeGreaterThan(40);
    expect(await slopeOf(page, 15)).toBeCloseTo(slope, 3);
    await page.getByRole('list', { name: 'Colours' }).getByText('NAK').waitFor();
    await page.keyboard.press('+');
    await expect.poll(() => slopeOf(page, 16)).toBeCloseTo(2 * slope, 3);
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    await expect.poll(() => slopeOf(page, 16)).toBeCloseTo(slope / 2, 3);
    await page.keyboard.press('0');
    await expect.poll(() => slopeOf(page, 16)).toBeCloseTo(slope, 3);
    await keepPicture(page, 'ladder-time');
  });

  it('folds silence, and keeps the chosen packet in sight', async () => {
    const page = await open({ hash: 'view=ladder&conversation=1&packet=88', dark: true });
    const rung = page.locator('.rung.selected[data-number="88"] .words');
    await expect.poll(() => isInSight(rung)).toBe(true);
    await page.locator('.rung', { hasText: '16.8 ms until the timeout, folded' }).locator('.fold').waitFor();
    await keepPicture(page, 'ladder-fold');
    await page.keyboard.press('j');
    await page.locator('.rung.selected[data-number="89"]').waitFor();
  });

  it('has equal rows as a choice, with the same clock as the list of packets', async () => {
    const page = await open({ hash: 'view=ladder&conversation=1&packet=16' });
    const time = page.locator('.rung[data-number="16"] .time');
    await expect.poll(() => time.textContent()).toBe('25.360');
    await page.getByRole('button', { name: 'Equal rows' }).click();
    await expect.poll(() => slopeOf(page, 16)).toBe(6);
    await expect.poll(() => time.textContent()).toBe('25.360');
    expect(hashOf(page).get('ladder')).toBe('rows');
    await page.keyboard.press('2');
    await expect.poll(() => page.locator('#row-16 .time').textContent()).toBe('0.000025360');
  });

  it.each(['', '&ladder=rows'])('shows the time that is chosen for all views; %s', async (mode) => {
    const page = await open({ hash: `view=ladder&conversation=1&time=20000-30000${mode}` });
    await page.locator('.rung[data-number="16"]').waitFor();
    const numbers = () =>
      page
        .locator('.packet-rung')
        .evaluateAll((rungs) =>
          rungs.map((rung) => (rung as unknown as { dataset: { number: string } }).dataset.number),
        );
    await expect.poll(async () => (await numbers())[0]).toBe('10');
    await expect.poll(async () => (await numbers()).length).toBeLessThan(20);
  });

  it('says what an arrow is where the mouse is, on a telephone too', async () => {
    const page = await open({ hash: 'view=ladder&conversation=1&packet=16', width: 390, height: 780 });
    const rung = page.locator('.rung.selected[data-number="16"]');
    await expect.poll(() => rung.locator('title').textContent()).toMatch(/^Packet 16 at 25\.4, right to left: NAK/);
    await expect.poll(() => isInSight(rung.locator('.words'))).toBe(true);
    await keepPicture(page, 'narrow-ladder-time');
  });
});
