/**
 * Goal: the peer of the fabric is left out with one reason where it cannot be built, and a run in which it did other
 * work than ours gives no figure. Method: the functions by themselves, with programs and lines of the test's own;
 * `bench.test.ts` runs the rows where ns-3 is there.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { incastSize } from '../../tools/bench/fabric.ts';
import { ns3Missing, ns3PacketsPerSecond } from '../../tools/bench/fabric-ns3.ts';

describe('ns-3 as a peer', () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'rocev2-ns3-test-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** A compiler that ends so when it is asked for a header of ns-3, and otherwise with 3. */
  function compilerThatEndsWith(code: number): string {
    const path = join(directory, `compiler-${code}`);
    writeFileSync(
      path,
      `#!/bin/sh\nread -r line\n[ "$line" = '#include <ns3/simulator.h>' ] && exit ${code}\nexit 3\n`,
    );
    chmodSync(path, 0o755);
    return path;
  }

  it('needs a compiler', () => {
    expect(ns3Missing(() => undefined)).toBe('g++ is not installed');
  });

  it('needs the headers', () => {
    const compiler = compilerThatEndsWith(1);
    expect(ns3Missing((name) => (name === 'g++' ? compiler : undefined))).toBe(
      'ns-3 is not installed (Debian package libns3-dev)',
    );
  });

  it('is there when the compiler finds them', () => {
    const compiler = compilerThatEndsWith(0);
    expect(ns3Missing(() => compiler)).toBeUndefined();
  });

  it('has as many senders and packets as ours', () => {
    expect(incastSize({ rounds: 1, scale: 1 })).toEqual({ senders: 16, packets: 9766 });
  });
});

describe('what the program prints', () => {
  it('is packets and the time that they took', () => {
    expect(ns3PacketsPerSecond('received 400 answers 0 dropped 0 seconds 0.250000\n', 400, false)).toBe(1600);
    expect(ns3PacketsPerSecond('received 400 answers 400 dropped 0 seconds 0.500000\n', 400, true)).toBe(800);
  });

  it.each([
    ['packets were dropped', 'received 400 answers 0 dropped 1 seconds 0.250000', false],
    ['fewer arrived', 'received 399 answers 0 dropped 0 seconds 0.250000', false],
    ['more arrived', 'received 401 answers 0 dropped 0 seconds 0.250000', false],
    ['not each was answered', 'received 400 answers 399 dropped 0 seconds 0.250000', true],
    ['there are answers that nobody wanted', 'received 400 answers 400 dropped 0 seconds 0.250000', false],
  ])('is no figure when %s', (_, line, acks) => {
    expect(() => ns3PacketsPerSecond(line, 400, acks)).toThrow(`ns-3 did other work than 400 packets: ${line}`);
  });

  it('is no figure when it is something else', () => {
    expect(() => ns3PacketsPerSecond('assert failed\n', 400, false)).toThrow('ns-3 printed no figure: assert failed');
  });
});
