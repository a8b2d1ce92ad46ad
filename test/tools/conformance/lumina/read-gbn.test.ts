/**
 * Goal: READs that are repeated wrongly are found, and right ones are not. Method: traces made by hand, one for each
 * fault.
 */
import { describe, expect, it } from 'vitest';
import { readGbnCheck } from '../../../../tools/conformance/lumina/checks.ts';
import { brokenOf, connectionOf, of, PACE, range, Scene } from './scene.ts';

const check = (scene: Scene, psns: number) => readGbnCheck(scene.trace, connectionOf(psns), PACE);

/** A READ of 6 packets whose third response is lost. */
const lossy = (): Scene => new Scene().reads(0, 6).responds(0, 1).respond(2, { deed: 'dropped' }).responds(3, 4, 5);

describe('the requester of READs', () => {
  it('is right when it asks again for the rest from the loss on, at once', () => {
    const results = check(lossy().reads(2, 4).responds(2, 3, 4, 5), 6);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'RD-18').seen).toBe(1);
    expect(of(results, 'REQ-14')).toMatchObject({ seen: 1, variation: '' });
    expect(of(results, 'REQ-25').seen).toBe(1);
    expect(of(results, 'REQ-14').figures).toMatchObject({ gaps: 1, timeouts: 0, askedAtOnceNsMedian: 3e3 });
  });

  it('varies in REQ-14 when only its timer asks again', () => {
    const results = check(lossy().pass(2e6).reads(2, 4).responds(2, 3, 4, 5), 6);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'REQ-14').variation).toContain('the gap at psn+2 drew nothing');
    expect(of(results, 'REQ-14').figures).toMatchObject({ timeouts: 1, askedByTimerNsCount: 1 });
  });

  it('does not vary when the last response is lost: there is no gap to see', () => {
    const scene = new Scene().reads(0, 3).responds(0, 1).respond(2, { deed: 'dropped' }).pass(2e6);
    const results = check(scene.reads(2, 1).responds(2), 3);
    expect(brokenOf(results)).toEqual([]);
    expect(of(results, 'REQ-14').variation).toBe('');
  });

  it('breaks RD-18 when it begins before the loss or behind it', () => {
    for (const from of [0, 1, 3]) {
      const scene = lossy().pass(1e4);
      const results = check(scene.reads(from, 6 - from).responds(...range(from, 6)), 6);
      expect(brokenOf(results)).toContain('RD-18');
      expect(of(results, 'RD-18').difference).toBe(
        `it asked again from psn+${from} on, and psn+2 was the first that was missing`,
      );
    }
  });

  it('breaks REQ-14 when it does not ask again, or never gets all', () => {
    expect(of(check(lossy(), 6), 'REQ-14').difference).toContain('response psn+2 was lost and not asked for again');
    expect(brokenOf(check(new Scene().reads(0, 2).responds(0), 2))).toContain('REQ-14');
  });

  it('breaks REQ-25 when what it asks again for is not the rest', () => {
    expect(brokenOf(check(lossy().reads(2, 3).responds(2, 3, 4, 5), 6))).toContain('REQ-25');
    expect(brokenOf(check(lossy().reads(2, 4, { va: 0x1000n }).responds(2, 3, 4, 5), 6))).toEqual(['REQ-25']);
    expect(brokenOf(check(lossy().reads(9, 1), 6))).toContain('REQ-25');
  });

  it('breaks REQ-28 when it asks again without a gap and without waiting', () => {
    const results = check(new Scene().reads(0, 4).responds(0, 1).pass(5e5).reads(2, 2).responds(2, 3), 4);
    expect(brokenOf(results)).toEqual(['REQ-28']);
    expect(of(results, 'REQ-28').difference).toContain('without a gap, 501 us after the last event');
  });

  it('may repeat later READs after the one that was broken', () => {
    const scene = new Scene().reads(0, 2).reads(2, 2).respond(0).respond(1, { deed: 'dropped' }).responds(2, 3);
    expect(brokenOf(check(scene.reads(1, 1).reads(2, 2).responds(1, 2, 3), 4))).toEqual([]);
  });
});

describe('the responder of READs', () => {
  it('breaks RD-01 when responses are not in order, or end too early', () => {
    expect(brokenOf(check(new Scene().reads(0, 3).responds(0, 2, 1), 3))).toContain('RD-01');
    const results = check(new Scene().reads(0, 3).responds(0, 1), 3);
    expect(of(results, 'RD-01').difference).toBe('the responses ended before psn+2 of 3');
  });

  it('breaks RD-01 when nobody asked, or the one who asked was not heard', () => {
    expect(brokenOf(check(new Scene().responds(0), 1))).toContain('RD-01');
    expect(brokenOf(check(new Scene().reads(0, 1, { deed: 'dropped' }).responds(0), 1))).toContain('RD-01');
  });

  it('counts the times it began', () => {
    expect(of(check(lossy().reads(2, 4).responds(2, 3, 4, 5), 6), 'RD-01').figures).toEqual({ bursts: 2 });
  });
});
