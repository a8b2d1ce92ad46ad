/**
 * Goal: every finding comes with its packets, with the part of the ladder that has them, and with what is known of its
 * symptom. Method: the excerpts of all findings in all scenes of the corpus; headless Chromium over a capture with
 * losses.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ladderExcerpt } from '../../../tools/explorer/engine/excerpt.ts';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { describeWith } from '../../support/need.ts';
import { keepPicture } from './browser.ts';
import { hashOf, useCapturePage } from './capture-page.ts';

const SCENES = new URL('../../../corpus/scenes/', import.meta.url);

function opened(name: string): CaptureSession {
  const session = new CaptureSession(name, bytesInMemory(new Uint8Array(readFileSync(new URL(name, SCENES)))));
  while (session.work(1000));
  return session;
}

describe('ladderExcerpt', () => {
  it('has the first packet of every finding of every scene, in order of time, and few others', () => {
    let findings = 0;
    for (const name of readdirSync(SCENES).filter((file) => file.endsWith('.pcapng'))) {
      const session = opened(name);
      for (const { id, frames } of session.analysis?.findings ?? []) {
        if (frames.length === 0) continue;
        findings++;
        const { rows, left, right } = ladderExcerpt(session, frames);
        const packets = rows.flatMap((row) => (row.kind === 'packet' ? [row.packet] : []));
        expect
          .soft(
            packets.map(({ number }) => number),
            `${name} ${id}`,
          )
          .toContain(frames[0]);
        expect.soft(packets.length, `${name} ${id}`).toBeLessThanOrEqual(10);
        const times = packets.map(({ timeNs }) => timeNs);
        expect.soft(times, `${name} ${id}`).toEqual([...times].sort((a, b) => a - b));
        expect.soft([left, right], `${name} ${id}`).not.toContain('');
      }
    }
    expect(findings).toBeGreaterThan(20);
  });

  it('has nothing for packets that are not there', () => {
    const session = opened('lost-at-wrap.pcapng');
    expect(ladderExcerpt(session, []).rows).toEqual([]);
    expect(ladderExcerpt(session, [0, 9999]).rows).toEqual([]);
  });
});

describeWith('chromium', 'findings in Chromium', () => {
  const open = useCapturePage();

  it('stand beside the ladder of their packets, which leads into it, and say what the symptom is', async () => {
    const page = await open();
    const first = page.getByTestId('finding').first();
    const excerpt = first.getByTestId('excerpt');
    await excerpt.locator('.rung.proof', { hasText: 'NAK PSN sequence error' }).waitFor();
    const text = await first.locator('.finding-text').boundingBox();
    expect((await excerpt.boundingBox())?.x).toBeGreaterThan((text?.x ?? 0) + (text?.width ?? 0));
    await first.getByText('About this symptom: Packets lost or overtaken').click();
    await first
      .getByTestId('symptom')
      .getByText(/^What is seen\. Counters out_of_sequence/)
      .waitFor();
    await keepPicture(page, 'findings');
    await excerpt.locator('.rung.proof', { hasText: 'NAK PSN sequence error' }).locator('.words').click();
    await page.locator('.rung.selected[data-number="16"]').waitFor();
    expect(hashOf(page).get('view')).toBe('ladder');
  });

  it('stand above it on a telephone', async () => {
    const page = await open({ width: 390, height: 780, dark: true });
    const first = page.getByTestId('finding').first();
    await first.locator('.rung.proof').first().waitFor();
    const text = await first.locator('.finding-text').boundingBox();
    const excerpt = await first.getByTestId('excerpt').boundingBox();
    expect(excerpt?.y).toBeGreaterThanOrEqual((text?.y ?? 0) + (text?.height ?? 0));
    expect(excerpt?.width).toBeLessThan(390);
    await keepPicture(page, 'narrow-findings');
  });
});
