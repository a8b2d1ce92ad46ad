/**
 * Goal: of a packet one sees what matters without scrolling: the BTH, the bytes, and the rule of a field beside each
 * other. Method: headless Chromium drives the built page over a capture with losses, at the size of a small laptop.
 */
import { expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { isInSight, useCapturePage } from './capture-page.ts';

describeWith('chromium', 'a packet in Chromium', () => {
  const open = useCapturePage();

  it('shows all of the BTH without scrolling, beside the bytes and the rule of the field', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    const field = (name: string) => page.locator('.field', { hasText: name });
    for (const name of ['infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn'])
      await expect.poll(() => isInSight(field(name))).toBe(true);
    await page.locator('summary', { hasText: '10.0.0.2 > 10.0.0.1' }).waitFor();
    await field('infiniband.bth.psn').click();
    const rule = page.getByTestId('field');
    await rule.getByText('Packet sequence number, modulo 2^24: each packet of a request takes one').waitFor();
    const tree = await page.getByTestId('fields').boundingBox();
    const hex = await page.getByTestId('hex').boundingBox();
    const about = await rule.boundingBox();
    expect((tree?.x ?? 0) + (tree?.width ?? 0)).toBeLessThanOrEqual(hex?.x ?? 0);
    expect((hex?.x ?? 0) + (hex?.width ?? 0)).toBeLessThanOrEqual(about?.x ?? 0);
    await expect.poll(() => isInSight(rule)).toBe(true);
    await keepPicture(page, 'packet-fields');
  });

  it('keeps looking at the field that was clicked when another packet is chosen', async () => {
    const page = await open({ hash: 'view=packets&packet=16' });
    await page.locator('.field', { hasText: 'infiniband.bth.psn' }).click();
    await page.mouse.move(5, 5);
    await page.getByTestId('field').getByText('6762649').waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: /^Packet 17/ }).waitFor();
    await page.getByTestId('field').getByText('6762651').waitFor();
  });
});
