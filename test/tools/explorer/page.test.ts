/**
 * Goal: the page does in a real browser what it is for: it opens a capture, says what is wrong, filters, shows bytes
 * and fields, ladders and graphs, by mouse and by keyboard, light and dark, wide and narrow, and comes back from its
 * address; it asks nobody for anything. Method: headless Chromium drives the built page over a capture with losses;
 * every test waits for what it expects to see. Pictures are kept.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { LinkType, PcapWriter, readCapture } from '../../../pcap/index.ts';
import { explorerPage, pageWithCapture } from '../../../tools/explorer/page-file.ts';
import { describeWith } from '../../support/need.ts';
import { ExplorerBrowser, keepPicture, type PageOptions } from './browser.ts';
import { lossyCapture } from './lossy-capture.ts';

describeWith('chromium', 'the explorer in Chromium', () => {
  let folder = '';
  let browser: ExplorerBrowser;
  const pages: Page[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rocev2-explorer-'));
    writeFileSync(join(folder, 'lossy.pcapng'), await lossyCapture());
    browser = await ExplorerBrowser.start(join(folder, 'lossy.pcapng'));
  });

  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });

  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
    expect(browser.complaints).toEqual([]);
    // Neither a server of somebody else nor the one that the page came from, but for the page and its file.
    expect(browser.strangers).toEqual([]);
  });

  async function open(options: PageOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    pages.push(page);
    await page.getByText(/, 174 packets/).waitFor();
    return page;
  }

  const hashOf = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

  it('says what is wrong first, and leads to the packets that prove it', async () => {
    const page = await open();
    const first = page.getByTestId('finding').first();
    await first.getByText('sequence-error').waitFor();
    await page.getByTestId('conversations').getByText('10.0.0.1 0x').waitFor();
    await keepPicture(page, 'overview');
    await first.locator('.frames button').first().click();
    await page.getByRole('heading', { name: /^Packet \d+/ }).waitFor();
    await expect.poll(() => hashOf(page).get('view')).toBe('packets');
    await page.goBack();
    await first.waitFor();
  });

  it('filters, selects, and shows bytes and fields that point at each other', async () => {
    const page = await open({ hash: 'view=packets' });
    await page.keyboard.press('/');
    await page.keyboard.type('nak');
    await page.keyboard.press('Enter');
    await page.getByText(/^2 of 174/).waitFor();
    await expect.poll(() => page.locator('.list .row').count()).toBe(2);
    await page.locator('.list .row').first().click();
    await page.getByRole('heading', { name: /^Packet \d+ ?nak/ }).waitFor();
    const syndrome = page.locator('.field', { hasText: 'infiniband.aeth.syndrome' });
    await syndrome.click();
    const box = page.getByTestId('field');
    await box.getByText(/NAK PSN sequence error/).waitFor();
    await expect.poll(() => box.locator('.bits b').textContent()).toBe('01100000');
    // The other way round: from the byte to the field.
    await expect.poll(() => page.locator('.byte.lit').allTextContents()).toEqual(['60']);
    await page.locator('.byte[data-byte="42"]').hover();
    await box.getByText('infiniband.bth.opcode').waitFor();
    await expect.poll(() => page.locator('.byte.lit').allTextContents()).toEqual(['11']);
    await keepPicture(page, 'packet');
  });

  it('gives the list the room until a packet is chosen, whose line stays in sight', async () => {
    const page = await open({ hash: 'view=packets' });
    const box = () => page.getByTestId('list').boundingBox();
    await page.locator('.list .row').first().waitFor();
    await expect.poll(async () => (await box())?.height).toBeGreaterThan(550);
    const before = await box();
    const low = (before?.y ?? 0) + (before?.height ?? 0) - 30;
    const rowThere = `document.elementFromPoint(640, ${low})?.closest('.row') !== null`;
    await expect.poll(() => page.evaluate(rowThere)).toBe(true);
    await page.mouse.click(640, low);
    await page.getByTestId('packet').waitFor();
    const inSight =
      'document.querySelector(".row.selected")?.getBoundingClientRect().bottom <= document.querySelector(".list").getBoundingClientRect().bottom';
    await expect.poll(() => page.evaluate(inSight)).toBe(true);
    await expect.poll(async () => (await box())?.height).toBeLessThan(400);
  });

  it('says above the list what its columns are, and keeps that in sight; times are whole', async () => {
    const page = await open({ hash: 'view=packets' });
    const heads = page.getByRole('columnheader');
    await expect
      .poll(() => heads.allTextContents())
      .toEqual(['No.', 'Time, s', 'Conv', 'From > to', 'Bytes', 'What it is']);
    const lastTime = page.locator('#row-174 .time');
    await page.keyboard.press('End');
    await lastTime.waitFor();
    await expect.poll(() => lastTime.textContent()).toMatch(/^\d+\.\d{9}$/);
    await expect.poll(() => page.evaluate(WHOLE_TIME)).toBe(true);
    const list = await page.locator('.list').boundingBox();
    expect((await heads.first().boundingBox())?.y).toBeLessThan((list?.y ?? 0) + 24);
    // The packet chosen is not hidden below them.
    await page.keyboard.press('Home');
    const first = page.locator('#row-1');
    await first.waitFor();
    await expect.poll(async () => (await first.boundingBox())?.y ?? 0).toBeGreaterThanOrEqual((list?.y ?? 0) + 23);
    await keepPicture(page, 'packet-list');
  });

  it('says where a filter is wrong, and proposes words', async () => {
    const page = await open({ hash: 'view=packets&filter=nak%20and%20psn' });
    await page
      .getByTestId('fault')
      .getByText(/column/)
      .waitFor();
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.fill('retr');
    await page
      .getByRole('option', { name: /retransmission/ })
      .first()
      .waitFor();
    await box.press('ArrowDown');
    await box.press('Enter');
    await expect.poll(() => box.inputValue()).toMatch(/^retransmission/);
    await box.press('Enter');
    await page.getByText(/^\d+ of 174/).waitFor();
    await expect.poll(() => page.getByTestId('fault').count()).toBe(0);
  });

  it('is worked with the keyboard alone', async () => {
    const page = await open();
    await page.keyboard.press('2');
    await page.getByRole('grid', { name: 'Packets' }).waitFor();
    for (const key of ['j', 'j', 'ArrowDown', 'k']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: /^Packet 2/ }).waitFor();
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-activedescendant')).toBe('row-2');
    await page.keyboard.press('End');
    await page.getByRole('heading', { name: /^Packet 174/ }).waitFor();
    await page.locator('#row-174').waitFor();
    await page.keyboard.press('Home');
    await page.getByRole('heading', { name: /^Packet 1$/ }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('3');
    await page.getByTestId('ladder').waitFor();
    // What has the focus can be seen.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  });

  it('draws a ladder with what was lost, the NAK and what was sent again', async () => {
    const page = await open({ hash: 'view=ladder&conversation=1' });
    const nak = page.locator('.rung', { hasText: 'NAK PSN sequence error' }).first();
    await nak.waitFor();
    const lost = page.locator('.rung', { hasText: 'lost psn 9' });
    await expect.poll(() => lost.locator('.cross').count()).toBe(1);
    await page.locator('.rung', { hasText: 'R WRITE Middle psn 9' }).locator('.arrow.again').first().waitFor();
    await keepPicture(page, 'ladder');
    await nak.locator('.words').click();
    await page.locator('.rung.selected').waitFor();
    await expect.poll(() => hashOf(page).get('packet')).not.toBeNull();
    const number = Number(hashOf(page).get('packet'));
    await page.keyboard.press('ArrowDown');
    await page.locator(`.rung.selected[data-number="${number + 1}"]`).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: new RegExp(`^Packet ${number + 1}`) }).waitFor();
  });

  it('takes every key from the moment it shows what the key is for, however late it paints', async () => {
    const page = await open({ late: true, hash: 'view=packets&packet=50' });
    await page.getByRole('heading', { name: /^Packet 50/ }).waitFor();
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: /^Packet 51/ }).waitFor();
    await page.keyboard.press('3');
    await page.locator('.rung.selected[data-number="51"]').waitFor();
    await page.locator('.rung[data-number="55"] .words').click();
    for (const key of ['ArrowDown', 'ArrowDown', 'k']) await page.keyboard.press(key);
    await page.locator('.rung.selected[data-number="56"]').waitFor();
    await page.keyboard.press('4');
    await page.getByTestId('sequence').waitFor();
    await page.getByText('169 packets of this PSN space').waitFor();
    await page.keyboard.press('+');
    await page.getByText('169 packets of this PSN space').waitFor({ state: 'detached' });
    await page.keyboard.press('6');
    await page.getByTestId('playground').waitFor();
    await page.keyboard.press('s');
    await page.getByTestId('where').getByText('Step 1').waitFor();
  });

  it('draws PSNs over time and rates, and zooms', async () => {
    const page = await open({ hash: 'view=sequence&conversation=1' });
    await page.getByText('169 packets of this PSN space').waitFor();
    await page.keyboard.press('+');
    await page.getByText(/^\d+ packets? of this PSN space/).waitFor();
    await page.getByText('169 packets of this PSN space').waitFor({ state: 'detached' });
    await page.keyboard.press('0');
    await page.getByText('169 packets of this PSN space').waitFor();
    await keepPicture(page, 'sequence');
    await page.keyboard.press('5');
    await page.getByRole('img', { name: 'Goodput' }).locator('canvas').waitFor();
    await page.getByRole('img', { name: 'Sent again' }).locator('canvas').waitFor();
    await keepPicture(page, 'rates');
  });

  it('is dark where the system is, and as one chooses', async () => {
    const page = await open({ dark: true, hash: 'view=packets&packet=16' });
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.getByRole('heading', { name: /^Packet 16/ }).waitFor();
    await keepPicture(page, 'dark');
    await page.getByRole('button', { name: 'Auto' }).click();
    await page.getByRole('button', { name: 'Light' }).waitFor();
    expect(brightness(dark)).toBeLessThan(128);
    await expect.poll(async () => brightness(await ground())).toBeGreaterThan(128);
    await page.getByRole('button', { name: 'Light' }).click();
    await page.getByRole('button', { name: 'Dark' }).waitFor();
    await expect.poll(ground).toBe(dark);
  });

  it.each(['overview', 'packets', 'ladder', 'sequence', 'rates', 'playground'])(
    'fits a telephone, 390 pixels wide: %s',
    async (view) => {
      const page = await open({ width: 390, height: 780, hash: `view=${view}&packet=16&conversation=1` });
      await page
        .locator(`[data-testid="${view}"], [data-testid="${view.replace(/s$/, '')}"]`)
        .first()
        .waitFor();
      await keepPicture(page, `narrow-${view}`);
      const over =
        'Math.max(0, ...[...document.querySelectorAll("html, .view")].map((e) => e.scrollWidth - e.clientWidth))';
      await expect.poll(() => page.evaluate(over)).toBe(0);
      if (view === 'packets')
        await expect.poll(() => tops(page, '.packet > header, .fields, .hex, .field-box')).toEqual(['in order']);
    },
  );

  it('comes back from its address', async () => {
    const page = await open({ hash: 'view=packets&packet=50&filter=retransmission' });
    await page.getByRole('heading', { name: /^Packet 50/ }).waitFor();
    await page.locator('#row-50.selected').waitFor();
    await expect.poll(() => page.getByRole('combobox', { name: 'Filter' }).inputValue()).toBe('retransmission');
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: /^Packet 51/ }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: /^Packet 51/ }).waitFor();
    await page.locator('#row-51.selected').waitFor();
    await page.getByText(/^\d+ of 174/).waitFor();
  });

  it('opens files that are picked, and says what is wrong with bad ones while it shows what is whole', async () => {
    const page = await open({ hash: 'view=packets' });
    const whole = await lossyCapture();
    await page.getByTestId('picker').setInputFiles({
      name: 'cut.pcapng',
      mimeType: '',
      buffer: Buffer.from(whole.subarray(0, 60_000)),
    });
    await page
      .getByTestId('problem')
      .getByText(/byte \d+.*packets before that are shown/)
      .waitFor();
    await page.locator('#row-1').waitFor();
    await keepPicture(page, 'damaged');
    await page
      .getByTestId('picker')
      .setInputFiles({ name: 'no.pcap', mimeType: '', buffer: Buffer.from('no capture') });
    await page
      .getByTestId('problem')
      .getByText(/neither/)
      .waitFor();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText('No packets, hence no diagnosis.').waitFor();
    await page.getByTestId('picker').setInputFiles({ name: 'lossy.pcapng', mimeType: '', buffer: Buffer.from(whole) });
    await page.getByText(/^lossy.pcapng, .*174 packets/).waitFor();
    await page.getByTestId('problem').waitFor({ state: 'detached' });
  });

  it('says above the findings what the capture cannot know, as roce analyze does', async () => {
    const page = await open();
    await page
      .getByTestId('verdict')
      .getByText(/^\d+ (errors?|warnings?)/)
      .waitFor();
    const cut = new PcapWriter(LinkType.Ethernet);
    for (const { bytes, seconds, nanoseconds } of readCapture(await lossyCapture()))
      cut.packet(bytes, 0, Math.min(80, bytes.length), seconds, nanoseconds, bytes.length);
    const file = { name: 'cut.pcap', mimeType: '', buffer: Buffer.from(cut.take()) };
    await page.getByTestId('picker').setInputFiles(file);
    await page
      .getByTestId('limits')
      .getByText(/packets are cut to their beginning/)
      .waitFor();
    await keepPicture(page, 'limits');
  });

  it('works from a file with the capture inside, without any server', async () => {
    const path = join(folder, 'alone.html');
    const name = 'a "b" <c>.pcapng';
    writeFileSync(path, pageWithCapture(await explorerPage(), name, await lossyCapture()));
    const page = await browser.open({ url: `file://${path}`, hash: 'view=packets&packet=16' });
    pages.push(page);
    await page.getByText(`${name}, 151 kB, 174 packets`).waitFor();
    await page.getByRole('heading', { name: /^Packet 16/ }).waitFor();
  });

  it('fetches nothing from elsewhere, whatever its address says', async () => {
    const page = await browser.open({ url: `${browser.origin}/?file=http://127.0.0.2:9/x.pcap` });
    pages.push(page);
    await page
      .getByTestId('problem')
      .getByText(/nowhere else/)
      .waitFor();
  });
});

/** Whether what is found stands one below the other, without overlap. */
async function tops(page: Page, selector: string): Promise<string[]> {
  const boxes = await Promise.all((await page.locator(selector).all()).map((one) => one.boundingBox()));
  const order = boxes.map((box, at) => {
    const before = at === 0 ? null : boxes[at - 1];
    return box !== null && (before === null || before === undefined || before.y + before.height <= box.y + 1);
  });

  return [...new Set(order.map((good) => (good ? 'in order' : 'overlapping')))];
}

function brightness(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number);
  return (red + green + blue) / 3;
}

/** In the page: whether the time of the last packet is shown in full. */
const WHOLE_TIME = `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('#row-174 .time'))`;
