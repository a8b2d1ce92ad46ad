/**
 * Goal: the longer lessons can be taken to their end in the page by the Next button alone, by the key `n` alone and by
 * the key `s` alone, and keep their promises there. Method: headless Chromium drives the built page.
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { LESSONS } from '../../../../tools/explorer/lessons/index.ts';
import { type Lesson, parseLesson } from '../../../../tools/explorer/playground/index.ts';
import { describeWith } from '../../../support/need.ts';
import { usePlayground } from './playground-page.ts';

const TAKEN = ['nvme-read', 'windows-and-keys', 'multicast', 'pfc-instead-of-loss', 'pfc-deadlock'];

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
});

const MOST_STEPS = 400;
