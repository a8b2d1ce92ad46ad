/**
 * Goal: every view can be used with a screen reader and with the keyboard, and its colours can be told from the ground,
 * light and dark, wide and on a telephone. Method: axe-core, with all of its rules, in headless Chromium over the built
 * page.
 */
import { describe, expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { violations } from './axe.ts';
import { useCapturePage } from './capture-page.ts';

interface Place {
  readonly name: string;
  readonly hash: string;
  /** What is there when the view is complete. */
  readonly sign: string;
}

const PLACES: readonly Place[] = [
  { name: 'overview', hash: 'view=overview', sign: '[data-testid="conversations"]' },
  { name: 'packets', hash: 'view=packets&packet=16&sort=length', sign: '#row-16.selected' },
  { name: 'ladder', hash: 'view=ladder&packet=16', sign: '.rung.selected .words' },
  { name: 'ladder with equal rows', hash: 'view=ladder&packet=16&ladder=rows', sign: '.rung.selected .words' },
  { name: 'sequence', hash: 'view=sequence&time=0-90000', sign: '.u-over' },
  { name: 'rates', hash: 'view=rates', sign: '.u-over' },
  { name: 'playground', hash: 'view=playground&lesson=lost-packet', sign: '[data-testid="next-stop"]' },
];

describeWith('chromium', 'axe in Chromium', () => {
  const open = useCapturePage();

  describe.each([
    { dark: false, width: 1280 },
    { dark: true, width: 1280 },
    { dark: false, width: 390 },
    { dark: true, width: 390 },
  ])('finds nothing, dark: $dark, $width pixels wide', ({ dark, width }) => {
    it.each(PLACES)('$name', async ({ hash, sign }) => {
      const page = await open({ hash, dark, width, height: 800 });
      await page.locator(sign).first().waitFor();
      expect(await violations(page)).toEqual([]);
    });
  });

  it('finds nothing in a menu, in the help and in the columns', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    await page.getByText('Columns', { exact: true }).click();
    await page.locator('.field', { hasText: 'infiniband.bth.psn' }).click({ button: 'right' });
    await page.getByRole('menu').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
