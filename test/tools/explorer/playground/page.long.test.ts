/**
 * Goal: everything else of the playground's page: parameters, posting by hand, states, narrow and dark, hostile
 * addresses. Method: headless Chromium drives the built page.
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { decodeLink, type PlaygroundScenario } from '../../../../tools/explorer/playground/index.ts';
import { describeWith } from '../../../support/need.ts';
import { keepPicture } from '../browser.ts';
import { hashOf, rungs, runToEnd, usePlayground, where } from './playground-page.ts';

/** What the address says that the session is. */
async function scenarioOf(page: Page): Promise<PlaygroundScenario> {
  const linked = decodeLink(new URL(page.url()).hash);
  if (!linked.ok) throw new Error(linked.error);
  return linked.session.scenario;
}

describeWith('chromium', 'the playground in Chromium, at length', () => {
  const open = usePlayground();

  it('changes parameters and posts by hand', async () => {
    const page = await open();
    await page.getByTestId('scenario').getByLabel('Path MTU').selectOption('256');
    await page.getByTestId('scenario').getByLabel('How many').fill('2');
    await page.getByTestId('post').click();
    await runToEnd(page);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('WRITE Middle'))).toHaveLength(42);
    await page.getByTestId('scenario').getByLabel('retry_cnt').fill('9');
    await page.getByTestId('scenario').getByLabel('retry_cnt').press('Tab');
    await page.getByTestId('play-problem').getByText('qp.retryCnt is a whole number from 0 to 7').waitFor();
    await page.getByTestId('scenario').getByLabel('Congestion control').selectOption('paper');
    await page.getByTestId('qp-A-0').getByTestId('rate').getByText('10.00 Gb/s').waitFor();
    await expect.poll(() => page.getByTestId('play-problem').count()).toBe(0);
    await page.getByTestId('scenario').getByLabel('aiRateBps', { exact: true }).fill('1e9');
    await page.getByTestId('scenario').getByLabel('aiRateBps', { exact: true }).press('Tab');
    await page.getByRole('spinbutton', { name: 'Hosts' }).fill('4');
    await page.getByRole('spinbutton', { name: 'Hosts' }).press('Tab');
    await page.getByTestId('qp-C-2').waitFor();
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByTestId('rungs').getByText('C to D').first().waitFor({ state: 'attached' });
  });

  it('changes the network: pauses, shape, and how connections begin', async () => {
    const page = await open();
    const form = page.getByTestId('scenario');
    const fill = async (name: string, text: string): Promise<void> => {
      await form.getByLabel(name).fill(text);
      await form.getByLabel(name).press('Tab');
    };
    const link = async (): Promise<object> => (await scenarioOf(page)).link;
    await form.getByLabel('PFC').selectOption('pauses');
    await expect.poll(link).toMatchObject({ pfc: { xoffBytes: 20_000, xonBytes: 10_000 } });
    await fill('Go on at (XON), bytes', '30000');
    await page.getByTestId('play-problem').getByText('link.pfc.xonBytes is a whole number from 0 to 20000').waitFor();
    await fill('Pause at (XOFF), bytes', '4000');
    await expect.poll(link).toMatchObject({ pfc: { xoffBytes: 4_000, xonBytes: 4_000 } });
    await form.getByLabel('PFC').selectOption('none');
    await expect.poll(link).not.toHaveProperty('pfc');
    await form.getByLabel('Shape').selectOption('ring');
    await expect.poll(link).toMatchObject({ shape: 'ring' });
    await form.getByLabel('Service').selectOption('ud');
    await page.getByTestId('play-problem').getByText('ud has no write').waitFor();
    await form.getByLabel('Connections').selectOption('are made');
    await page.evaluate('document.activeElement.blur()');
    await runToEnd(page);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('CM RE'))).toHaveLength(2);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('WRITE'))).toHaveLength(4);
    await page.getByTestId('qp-B-0').getByTestId('cm').getByText('established').waitFor();
    await fill('CM retries', '16');
    await page.getByTestId('play-problem').getByText('cm.retries is a whole number from 0 to 15').waitFor();
    await form.getByRole('spinbutton', { name: 'Hosts' }).fill('3');
    await form.getByRole('spinbutton', { name: 'Hosts' }).press('Tab');
    await page.getByTestId('qp-C-1').waitFor();
    await page.evaluate('document.activeElement.blur()');
    await runToEnd(page);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('WRITE'))).toHaveLength(8);
    await form.getByLabel('Connections').selectOption('stand');
    await expect.poll(() => page.getByTestId('qp-A-0').locator('.states').getAttribute('data-state')).toBe('RTS');
  });

  it('posts to a group and asks for a connection by hand', async () => {
    const page = await open({ hash: hashOf({ hosts: 3, qp: { service: 'ud' }, operations: [] }) });
    const form = page.getByTestId('scenario');
    await form.getByLabel('Operation').selectOption('join');
    await form.getByLabel('From, to').selectOption('B to A');
    await page.getByTestId('post').click();
    await form.getByLabel('Operation').selectOption('send');
    await form.getByLabel('From, to').selectOption('A to B');
    await form.getByLabel('to the multicast group').check();
    await form.getByLabel('Bytes').fill('64');
    await page.getByTestId('post').click();
    await runToEnd(page);
    await expect.poll(async () => (await rungs(page)).filter((text) => text.includes('SEND'))).toHaveLength(2);

    const other = await open({ hash: hashOf({ cm: {}, operations: [] }) });
    expect(await other.getByLabel('to the multicast group').count()).toBe(0);
    await other.getByLabel('Operation').selectOption('connect');
    await other.getByLabel("Peer's answer").selectOption('reject');
    await other.getByTestId('post').click();
    await other.keyboard.press('s');
    await other.getByTestId('qp-A-0').getByTestId('timers').getByText('REQ is sent again in').waitFor();
    await runToEnd(other);
    await other.getByTestId('log').getByText('A is refused: ConsumerDefined').waitFor();
  });

  it('binds a memory window, and writes with its key while it is bound', async () => {
    const page = await open({ hash: hashOf({ operations: [] }) });
    const form = page.getByTestId('scenario');
    const post = async (kind: string, way: string): Promise<void> => {
      await form.getByLabel('Operation').selectOption(kind);
      await form.getByLabel('From, to').selectOption(way);
      await page.getByTestId('post').click();
      await runToEnd(page);
    };
    const completed = page.getByTestId('completions');
    await form.getByLabel('Bytes').fill('64');
    await form.getByLabel('Offset').fill('256');
    await post('bind', 'B to A');
    expect(await form.getByLabel('memory window').count()).toBe(0);
    await form.getByLabel('Operation').selectOption('write');
    await form.getByLabel('memory window').check();
    await post('write', 'A to B');
    await expect.poll(() => completed.getByText('success').count()).toBe(2);
    await post('invalidate', 'B to A');
    await post('write', 'A to B');
    await completed.getByText('remote access error').waitFor();
  });

  it('shows the states of both machines when a connection breaks', async () => {
    const page = await open({ hash: hashOf({ operations: [{ kind: 'write', mistake: 'rkey' }] }, 50) });
    for (const name of ['A', 'B'])
      await expect
        .poll(() => page.getByTestId(`qp-${name}-0`).locator('.states').getAttribute('data-state'))
        .toBe('ERR');
    await page.getByTestId('completions').getByText('remote access error').waitFor();
  });

  it('is readable on a telephone and in the dark', async () => {
    const page = await open({ width: 390, height: 780, dark: true });
    await page.keyboard.press('s');
    await page.keyboard.press('s');
    await page.getByTestId('play-ladder').locator('.flying').waitFor();
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    const hidden = "{ const v = document.querySelector('.view'); v.scrollWidth - v.clientWidth }";
    await expect.poll(() => page.evaluate<number>(hidden)).toBe(0);
    await keepPicture(page, 'playground-narrow');
  });

  it.each([
    ['view=playground&play=1.nonsense', 'the link is damaged'],
    [`view=playground&play=1.${btoa('{"s":{"hosts":99}}')}`, 'hosts is a whole number from 2 to 8'],
    [`view=playground&play=7.${btoa('{}')}`, "version '7'"],
    ['view=playground&play=1.bnVsbA', 'the link is an object'],
  ])('says in words what is wrong with the address %s', async (hash, words) => {
    const page = await open({ hash });
    await page.getByTestId('play-problem').getByText(words).waitFor();
    await page.keyboard.press('s');
    await page.getByTestId('play-problem').waitFor({ state: 'detached' });
    await expect.poll(() => where(page)).toContain('Step 1');
  });
});
