/**
 * Goal: progress is one line of a terminal, and elsewhere nothing, or a line now and then where that is asked for. Method: a terminal and a clock that are
 * lists and numbers.
 */
import { describe, expect, it } from 'vitest';
import { ProgressLine, type ProgressOptions } from '../../tools/progress-line.ts';

function line({ isTTY = true, quiet = false, columns = 80, lines = undefined as ProgressOptions['lines'] } = {}) {
  const written: string[] = [];
  let nowMs = 0;
  const terminal = { isTTY, columns, write: (text: string) => written.push(text) };
  const progress = new ProgressLine(terminal, { quiet, nowMs: () => nowMs, lines });
  return {
    progress,
    written,
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('the progress line', () => {
  it('shows part, words and time, and what is left once that can be told', () => {
    const { progress, written, wait } = line();
    progress.update(0, '0 of 4 runs');
    wait(10_000);
    progress.update(0.5, '2 of 4 runs');
    expect(written).toEqual([
      '\r[........................] 0 %, 0 of 4 runs, 0 s\u001b[K',
      '\r[############............] 50 %, 2 of 4 runs, 10 s, about 10 s left\u001b[K',
    ]);
  });

  it('is taken away in the end', () => {
    const { progress, written } = line();
    progress.update(0.5, '2 of 4 runs');
    progress.clear();
    progress.clear();
    expect(written.slice(1)).toEqual(['\r\u001b[K']);
  });

  it('is written once while nothing changes, and never over the end of the line', () => {
    const { progress, written } = line({ columns: 20 });
    progress.update(0.5);
    progress.update(0.5);
    expect(written).toEqual(['\r[############......\u001b[K']);
  });

  const lines = { name: 'roce sim', everyMs: 30_000 };

  it('is a line of its own now and then where it is no terminal, if that is asked for', () => {
    const { progress, written, wait } = line({ isTTY: false, columns: 20, lines });
    progress.update(0);
    wait(29_999);
    progress.update(0.1);
    wait(1);
    progress.update(0.25, '1 of 4 runs');
    wait(29_999);
    progress.update(0.4);
    wait(30_001);
    progress.update(0.75);
    progress.clear();
    expect(written).toEqual([
      'roce sim: 25 %, 1 of 4 runs, 30 s, about 90 s left\n',
      'roce sim: 75 %, 90 s, about 30 s left\n',
    ]);
  });

  it.each([{ quiet: true, isTTY: false }, { isTTY: true }])('has no lines of its own with %o', (options) => {
    const { progress, written, wait } = line({ ...options, lines });
    wait(60_000);
    progress.update(0.5);
    expect(written.filter((text) => text.endsWith('\n'))).toEqual([]);
  });

  it.each([{ isTTY: false }, { quiet: true }])('is not there with %o', (options) => {
    const { progress, written } = line(options);
    progress.update(0.5);
    progress.clear();
    expect(written).toEqual([]);
  });
});
