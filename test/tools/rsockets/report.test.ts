/**
 * Goal: tables are those of rdmacm-utils. Method: lines that stock rstream and riostream printed in a guest, and their
 * ladder.
 */
import { describe, expect, it } from 'vitest';
import {
  bandwidthTest,
  CountingBytes,
  countText,
  ladderSizes,
  latencyTest,
  STREAM_HEADING,
  sizeText,
  streamRow,
} from '../../../tools/rsockets/report.ts';

describe('the table of rstream', () => {
  it('begins with the heading that rstream prints', () => {
    expect(STREAM_HEADING).toBe('name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer');
  });

  it('has the columns that rstream prints', () => {
    const row = streamRow({ name: 'custom', size: 1_000_000, transfers: 5, iterations: 1 }, 752_494);
    expect(row).toBe('custom    976k    5       1       9.5m        0.75s      0.11   75249.40');
    const long = streamRow({ name: 'custom', size: 64, transfers: 1, iterations: 3000 }, 7_041_240);
    expect(long).toBe('custom    64      1       3k      375k        7.04s      0.00    1173.54');
  });

  it.each([
    [0, '0'],
    [1023, '1023'],
    [1024, '1k'],
    [1536, '1.5k'],
    [3000, '2.9k'],
    [10_300, '10k'],
    [1 << 20, '1m'],
    [2.5 * 2 ** 30, '2.5g'],
  ])('says %i bytes as %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });

  it.each([
    [999, '999'],
    [1999, '1k'],
    [100_000, '100k'],
    [2_000_000, '2m'],
    [3e9, '3b'],
  ])('counts %i as %s', (count, text) => {
    expect(countText(count)).toBe(text);
  });
});

describe('the ladder', () => {
  it('goes by factors of 16, or over every size', () => {
    expect(ladderSizes(false)).toEqual([64, 4096, 65_536, 1 << 20]);
    const all = ladderSizes(true);
    expect([all.length, all[1], all[2], all[3], all.at(-1)]).toEqual([33, 128, 192, 256, 6 << 20]);
  });

  it('transfers as often as rstream does, unless it is limited', () => {
    const unlimited = Number.POSITIVE_INFINITY;
    expect(latencyTest(64, unlimited)).toEqual({ name: '64_lat', size: 64, transfers: 1, iterations: 100_000 });
    expect(bandwidthTest(4096, unlimited)).toEqual({ name: '4k_bw', size: 4096, transfers: 10_000, iterations: 1 });
    expect(bandwidthTest(65_536, unlimited).transfers).toBe(1000);
    expect(latencyTest(1 << 20, 3).iterations).toBe(3);
    expect(bandwidthTest(3 << 19, unlimited)).toMatchObject({ name: '1.5m_bw', transfers: 100 });
  });
});

describe('bytes to verify', () => {
  it('go on counting from one transfer to the next', () => {
    const [sent, wanted] = [new CountingBytes(), new CountingBytes()];
    const bytes = new Uint8Array(300);
    sent.fill(bytes);
    expect([bytes[255], bytes[256], wanted.verify(bytes)]).toEqual([255, 0, -1]);
    sent.fill(bytes.subarray(0, 10));
    bytes[7] = 0;
    expect(wanted.verify(bytes.subarray(0, 10))).toBe(307);
  });
});
