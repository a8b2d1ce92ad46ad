import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemTimers } from '../../../tools/nvme/serve.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('does not call at once what is due in more days than setTimeout counts', () => {
  let called = 0;
  const cancel = systemTimers.after(0xff_ff_ff_ff * 1e6, () => called++);
  vi.advanceTimersByTime(86_400_000);
  expect(called).toBe(0);
  cancel();
  systemTimers.after(5e9, () => called++);
  vi.advanceTimersByTime(5000);
  expect(called).toBe(1);
});
