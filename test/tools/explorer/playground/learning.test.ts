/**
 * Goal: the page asks before it shows, and tells right from wrong; exercises hide what the network did; both come back
 * from the address. Method: headless Chromium drives the built page. Pictures are kept.
 */
import { expect, it } from 'vitest';
import { exerciseOf } from '../../../../tools/explorer/playground/index.ts';
import { describeWith } from '../../../support/need.ts';
import { keepPicture } from '../browser.ts';
import { rungs, usePlayground } from './playground-page.ts';

describeWith('chromium', 'learning in Chromium', () => {
  const open = usePlayground();

  it('asks for a prediction, and answers it at the next stop', async () => {
    const page = await open();
    await page.getByTestId('lesson-choice').selectOption('lost-packet');
    await page.getByTestId('stop').getByText('Stop 1 of 6').waitFor();
    expect(await page.getByTestId('prediction').count()).toBe(0);
    await page.keyboard.press('n');
    await page.getByTestId('prediction').getByText('It keeps 103').click();
    await keepPicture(page, 'playground-prediction');
    await page.keyboard.press('n');
    await page.getByTestId('predicted').getByText('Not "It keeps 103').waitFor();
    await page.getByTestId('predicted').getByText('It drops 103').waitFor();
    await page.reload();
    await page.getByTestId('predicted').getByText('Not "It keeps 103').waitFor();
    await page.keyboard.press('p');
    await page.getByTestId('prediction').getByText('It drops 103').click();
    await page.keyboard.press('n');
    await page.getByTestId('predicted').getByText('Right.').waitFor();
    await page.getByTestId('lesson-choice').selectOption('lost-ack');
    await page.keyboard.press('n');
    await page.getByTestId('predicted').waitFor();
    expect(await page.getByTestId('predicted').textContent()).not.toMatch(/Right|Not/);
  });

  it('gives exercises that hide the fault, judge the answer, and come back from the address', async () => {
    const page = await open();
    await page.getByTestId('lesson-choice').selectOption('Exercises: find the fault');
    await page.getByRole('heading', { name: 'Find the fault, exercise 1' }).waitFor();
    const { choices, right } = exerciseOf(1);
    const wrong = (right + 1) % choices.length;
    expect((await rungs(page)).length).toBeGreaterThan(0);
    expect((await rungs(page)).join()).not.toMatch(/lost|damaged|doubled|held back|dropped/);
    expect(await page.getByTestId('log').count()).toBe(0);
    expect(await page.getByTestId('scenario').count()).toBe(0);
    await page
      .getByTestId('exercise')
      .getByLabel(choices[wrong] ?? '')
      .click();
    await page.getByTestId('verdict').getByText('No: look again.').waitFor();
    await page
      .getByTestId('exercise')
      .getByLabel(choices[right] ?? '')
      .click();
    await page.getByTestId('verdict').getByText('Right.').waitFor();
    await keepPicture(page, 'playground-exercise');
    const shown = await rungs(page);
    await page.reload();
    await page.getByTestId('verdict').getByText('Right.').waitFor();
    await expect.poll(() => rungs(page)).toEqual(shown);
    await page.getByRole('button', { name: 'Next exercise' }).click();
    await page.getByRole('heading', { name: 'Find the fault, exercise 2' }).waitFor();
    expect(await page.getByTestId('verdict').count()).toBe(0);
    await page.getByTestId('lesson-choice').selectOption('');
    await page.getByTestId('scenario').waitFor();
  });
});
