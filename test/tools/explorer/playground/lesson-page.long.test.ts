/**
 * Goal: the longer lessons can be taken to their end in the page by the Next button alone, by the key `n` alone and by
 * the key `s` alone, and keep their promises there; and whoever takes the newer ones finds them readable: light and
 * dark, wide and on a telephone, with a screen reader. Method: headless Chromium drives the built page; axe-core looks
 * at each lesson in the middle and at its end. Pictures are kept.
 */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { LESSONS } from '../../../../tools/explorer/lessons/index.ts';
import { type Lesson, parseLesson } from '../../../../tools/explorer/playground/index.ts';
import { describeWith } from '../../../support/need.ts';
import { violations } from '../axe.ts';
import { keepPicture } from '../browser.ts';
import { usePlayground } from './playground-page.ts';

const TAKEN = [
  ...['nvme-read', 'windows-and-keys', 'multicast', 'pfc-instead-of-loss', 'pfc-deadlock'],
  'connection-management',
];

function lessonOf(id: string): Lesson {
  const lesson = LESSONS.map((value) => parseLesson(value)).find((one) => one.id === id);
  if (lesson === undefined) throw new Error(`there is no lesson ${id}`);
  return lesson;
}

/** From the first stop to the last, by what `goOn` does. */
async function take(page: Page, { steps }: Lesson, goOn: () => Promise<void>): Promise<void> {
  for (let stop = 2; stop <= steps.length; stop++) {
    await goOn();
    await keepsItsWord(page, stop, steps.length);
  }
}

async function keepsItsWord(page: Page, stop: number, stops: number): Promise<void> {
  await page.getByTestId('stop').getByText(`Stop ${stop} of ${stops}`).waitFor();
  await expect.poll(() => page.getByTestId('stop').getAttribute('data-kept')).toBe('true');
}

/** As often as it needs to come to the last stop. */
async function stepToEnd(page: Page, { steps }: Lesson): Promise<void> {
  const last = page.getByText(`Stop ${steps.length} of ${steps.length}`);
  for (let step = 0; step < MOST_STEPS && !(await last.isVisible()); step++) await page.keyboard.press('s');
  await keepsItsWord(page, steps.length, steps.length);
}

describeWith('chromium', 'the lessons in Chromium', () => {
  const open = usePlayground();

  it.each(TAKEN)('%s by Next alone, by n alone and by s alone', async (id) => {
    const lesson = lessonOf(id);
    const page = await open();
    const begin = async (): Promise<void> => {
      await page.getByTestId('lesson-choice').selectOption('');
      await page.getByTestId('lesson-choice').selectOption(id);
      await keepsItsWord(page, 1, lesson.steps.length);
      await page.evaluate('document.activeElement.blur()');
    };
    await begin();
    await take(page, lesson, () => page.getByTestId('next-stop').click());
    await begin();
    await take(page, lesson, () => page.keyboard.press('n'));
    await begin();
    await stepToEnd(page, lesson);
  });

  describe.each([
    { dark: false, width: 1280 },
    { dark: true, width: 1280 },
    { dark: false, width: 390 },
    { dark: true, width: 390 },
  ])('are readable, dark: $dark, $width pixels wide', ({ dark, width }) => {
    it.each(TAKEN)('%s', async (id) => {
      const { steps } = lessonOf(id);
      const page = await open({ hash: `view=playground&lesson=${id}`, dark, width, height: 800 });
      await keepsItsWord(page, 1, steps.length);
      for (let stop = 2; stop <= steps.length; stop++) {
        await page.keyboard.press('n');
        await keepsItsWord(page, stop, steps.length);
        if (stop !== Math.ceil(steps.length / 2) && stop !== steps.length) continue;
        expect(await violations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
        await keepPicture(page, `lesson-${id}-${stop}-${width}${dark ? '-dark' : ''}`);
      }
    });
  });
});

const MOST_STEPS = 400;
