/**
 * Goal: the playground works in a real browser: step, drop, see the NAK, come back from the address, leave as a file
 * that tshark reads; lessons lead through. Method: headless Chromium drives the built page. Pictures are kept.
 * `page.long.test.ts` has the rest.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { tsharkNumber, tsharkRows } from '../../../../tools/tshark.ts';
import { describeWith, itWith } from '../../../support/need.ts';
import { keepPicture } from '../browser.ts';
import { rungs, runToEnd, usePlayground, where } from './playground-page.ts';

describeWith('chromium', 'the playground in Chromium', () => {
  const open = usePlayground();
  const click = (page: Page, name: RegExp) => page.getByRole('button', { name }).click();

  it('steps, drops, shows the NAK, and is in the same place with the same ladder after a reload', async () => {
    const page = await open();
    for (let step = 0; step < 4; step++) await click(page, /^Step/);
    await page.getByTestId('packet-line').getByText('psn 102').waitFor();
    await click(page, /^Drop/);
    await page.getByText('Drop: packet 3 of A').waitFor();
    for (let step = 0; step < 6; step++) await page.keyboard.press('s');
    await page.getByTestId('log').getByText('expects an earlier PSN').waitFor();
    await page.getByTestId('rungs').getByText('NAK PSN sequence error, psn 102, flying').waitFor({ state: 'attached' });
    await expect.poll(() => page.getByTestId('qp-B-0').getByTestId('expected-psn').textContent()).toBe('102');
    await keepPicture(page, 'playground-nak');
    await expect.poll(async () => (await rungs(page))[2]).toContain('dropped, lost');
    const [before, place] = [await rungs(page), await where(page)];
    await page.reload();
    await page.getByTestId('playground').waitFor();
    await expect.poll(() => rungs(page)).toEqual(before);
    await expect.poll(() => where(page)).toBe(place);
    await page.keyboard.press('b');
    await expect.poll(() => rungs(page)).toEqual(before.slice(0, -1));
    await runToEnd(page);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('again'))).toHaveLength(2);
    await page.getByTestId('completions').getByText('success').waitFor();
  });

  itWith('tshark', 'leaves as a pcapng file that tshark reads', async () => {
    const page = await open();
    await runToEnd(page);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('export').click()]);
    expect(download.suggestedFilename()).toBe('playground.pcapng');
    const folder = mkdtempSync(join(tmpdir(), 'playground-page-'));
    try {
      const file = join(folder, 'playground.pcapng');
      await download.saveAs(file);
      const rows = await tsharkRows(file, ['infiniband.bth.psn']);
      const psns = rows.map((row) => Number(tsharkNumber(row.get('infiniband.bth.psn')?.[0] ?? '')));
      expect(psns).toEqual([100, 101, 102, 103, 103]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('hands its packets to the other views', async () => {
    const page = await open();
    await runToEnd(page);
    await page.getByTestId('analyze').click();
    await page.getByText(/^playground.pcapng, .*5 packets/).waitFor();
    await page.keyboard.press('3');
    await page.locator('.rung', { hasText: 'WRITE First' }).waitFor();
  });

  it('leads through a lesson, whose place is in the address', async () => {
    const page = await open();
    await page.getByTestId('lesson-choice').selectOption('lost-packet');
    await page.getByRole('heading', { name: 'A lost packet: NAK and go-back-N' }).waitFor();
    for (let stop = 2; stop <= 5; stop++) {
      await page.keyboard.press('n');
      await page.getByTestId('stop').getByText(`Stop ${stop} of 6`).waitFor();
      await expect.poll(() => page.getByTestId('stop').getAttribute('data-kept')).toBe('true');
    }
    await keepPicture(page, 'playground-lesson');
    await page.reload();
    await page.getByTestId('stop').getByText('Stop 5 of 6').waitFor();
    await expect.poll(() => page.getByTestId('stop').getAttribute('data-kept')).toBe('true');
    await page.getByTestId('next-stop').click();
    await click(page, /^Show the answer/);
    await page.getByTestId('answer').waitFor();
    await click(page, /^Restart/);
    await page.getByTestId('way').getByText('You have gone back').waitFor();
  });

  it('has one button that looks like the one to press: Step, in a lesson Next, at its end the answer', async () => {
    const page = await open();
    const strong = () => page.locator('button.strong').allTextContents();
    await expect.poll(strong).toEqual(['Step s']);
    await page.getByTestId('lesson-choice').selectOption('lost-packet');
    await page.getByTestId('stop').getByText('Stop 1 of 6').waitFor();
    await expect.poll(strong).toEqual(['Next n']);
    for (let stop = 2; stop <= 6; stop++) {
      await page.keyboard.press('n');
      await page.getByTestId('stop').getByText(`Stop ${stop} of 6`).waitFor();
    }
    await expect.poll(strong).toEqual(['Show the answer']);
    await click(page, /^Show the answer/);
    await expect.poll(strong).toEqual([]);
    await click(page, /^Restart/);
    await expect.poll(strong).toEqual(['Step s']);
  });

  it('leads through a lesson by Step alone, and says so when one has left it', async () => {
    const page = await open();
    await page.getByTestId('lesson-choice').selectOption('lost-packet');
    await page.getByTestId('stop').getByText('Stop 1 of 6').waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Step/ }).getAttribute('class')).toBe('');
    await click(page, /^Step/);
    await page.getByTestId('way').getByText('On the way').waitFor();
    await page.getByText('Drop: packet 3 of A').waitFor();
    await page.reload();
    for (let step = 0; step < 60 && !(await page.getByText('Stop 6 of 6').isVisible()); step++) {
      await page.keyboard.press('s');
    }
    await page.getByTestId('stop').getByText('Stop 6 of 6').waitFor();
    await expect.poll(() => page.getByTestId('stop').getAttribute('data-kept')).toBe('true');
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('again'))).toHaveLength(4);
    for (let stop = 5; stop >= 3; stop--) {
      await page.keyboard.press('p');
      await page.getByTestId('stop').getByText(`Stop ${stop} of 6`).waitFor();
    }
    // The lesson knows nothing of a lost NAK.
    await page.keyboard.press('d');
    await page.getByTestId('way').getByText('You have gone another way').waitFor();
  });
});
